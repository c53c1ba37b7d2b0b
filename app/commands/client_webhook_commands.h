#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// `webhooks …`. Only options, as in client_commands.h.
void add_webhook_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
