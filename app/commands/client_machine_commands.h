#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// The client commands for machines: `exec …`, `machines …`, `ssh`. Only options, as in client_commands.h.
void add_machine_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
