#pragma once

namespace CLI {
class App;
}

namespace millrace::app {

// The commands of sound: `speak`. Options only; the work is in app/cli.
void add_audio_client_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::app
