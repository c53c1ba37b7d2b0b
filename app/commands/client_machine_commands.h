#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// The client commands of machines: `exec …`, `machines …`, `ssh`. Options only, as client_commands.h.
void add_machine_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
