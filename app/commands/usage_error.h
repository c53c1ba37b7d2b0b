#pragma once
#include <span>
#include <string>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace millrace::app {

// The error text for a command line that cannot be parsed: the first unknown command, flag or argument
// with the right form, else CLI11's message in plain words, and a pointer to the help. If a subcommand is
// missing, the command's whole help. `arguments` exclude the program's name. Every line ends with a newline.
std::string usage_error(const CLI::App& app, const CLI::Error& error, std::span<const std::string> arguments);

// The error text for a flag that needs a value and is followed by a word that begins with `--`, most likely
// the next flag. Empty: there is none. CLI11 would take that word as the value.
std::string missing_value(const CLI::App& app, std::span<const std::string> arguments);

}  // namespace millrace::app
