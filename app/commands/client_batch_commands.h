#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// `batch …`. Only options; the actions are in app/cli/batches.
void add_batch_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
