#pragma once
#include <span>
#include <string>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace millrace::app {

// The error text for a command line that cannot be parsed: the first unknown command or flag with the nearest
// known one, else CLI11's message, and a pointer to the help. If a subcommand is missing, the command's whole
// help. `arguments` exclude the program's name. Every line ends with a newline.
std::string usage_error(const CLI::App& app, const CLI::Error& error, std::span<const std::string> arguments);

}  // namespace millrace::app
