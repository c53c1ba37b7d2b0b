#pragma once
#include <memory>

#include "app/cli/client.h"

namespace CLI {
class App;
}

namespace CLI {
class App;
}

namespace CLI {
class App;
}

namespace CLI {
class App;
}

namespace CLI {
class App;
}

namespace CLI {
class App;
}
namespace millrace::app {

// The command of a group that lists: `ls`, as help has it; `list` is understood as well.
CLI::App* add_list_command(CLI::App& group, const char* help);

// --url, --key and how to print, as every client command has them; settled once the command line is read.
std::shared_ptr<cli::ClientOptions> add_client_options(CLI::App& command);

// `millrace queues …` and `millrace workers …`, of whoever runs the gateway.
void add_operator_client_commands(CLI::App& app, int& exit_code);

// The commands of sound: `speak`. Options only; the work is in app/cli.
void add_audio_client_commands(CLI::App& app, int& exit_code);

// `chat` and `models …`. Options only; the work is in app/cli.
void add_chat_client_commands(CLI::App& app, int& exit_code);

// The commands that talk to a running gateway over its API: `ocr`, `jobs …`, those of chat and
// of machines. Options only; the work is in app/cli.
void add_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
