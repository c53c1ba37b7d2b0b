#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// `millrace queues …` and `millrace workers …`, of whoever runs the gateway.
void add_operator_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
