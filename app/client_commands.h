#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// The commands that talk to a running gateway over its API: `ocr`, `jobs …`, those of chat and
// of machines. Options only; the work is in app/cli.
void add_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
