#pragma once
#include <memory>

#include "app/cli/client.h"
#include "app/cli/job_start.h"

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

// Adds a group's list command: `ls` in help; `list` is accepted as well.
CLI::App* add_list_command(CLI::App& group, const char* help);

// Adds --url, --key and the output options of every client command. The values are final once the command
// line is parsed.
std::shared_ptr<cli::ClientOptions> add_client_options(CLI::App& command);

// Adds --run-at and --delay to a command whose request becomes a job.
void add_start_options(CLI::App& command, cli::JobStartFlags& start);

// `millrace queues …` and `millrace workers …`, for operators of a gateway.
void add_operator_client_commands(CLI::App& app, int& exit_code);

// The audio commands: `speak`. Only options; the action is in app/cli.
void add_audio_client_commands(CLI::App& app, int& exit_code);

// `chat` and `models …`. Only options; the action is in app/cli.
void add_chat_client_commands(CLI::App& app, int& exit_code);

// The commands that call a running gateway's API: `ocr`, `jobs …`, and those for chat and machines. Only
// options; the actions are in app/cli.
void add_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
