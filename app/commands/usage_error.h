#pragma once
#include <span>
#include <string>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace millrace::app {

// What a command line that cannot be read gets to hear: the first word that is no command or flag with the
// nearest right one, else what CLI11 says; and where the help is. A command that lacks its subcommand gets
// its whole help. `arguments` without the program's name. Every line ends.
std::string usage_error(const CLI::App& app, const CLI::Error& error, std::span<const std::string> arguments);

}  // namespace millrace::app
