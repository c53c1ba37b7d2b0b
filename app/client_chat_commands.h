#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// `chat` and `models …`. Options only; the work is in app/cli.
void add_chat_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
