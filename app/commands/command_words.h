#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace millrace::app {

// `exec run` and `ssh` run a command on a machine. Puts `--` before its first word, the first one (for `ssh`,
// after the machine) that is neither a flag nor its value, so that every later flag belongs to it, as for ssh
// and docker. Other command lines stay as they are. `words`: without the program's name.
std::vector<std::string> with_command_begun(const CLI::App& app, std::vector<std::string> words);

// True if the word after this flag is its value. Flags of one letter may be joined: "-dm local".
bool expects_value(const CLI::App& command, const std::string& flag);

// Settings that are true or false may be given without a value: adds `=true` to such a flag unless the next
// word is a value for it.
std::vector<std::string> with_true_for_bare_flags(const CLI::App& app, std::vector<std::string> words);

}  // namespace millrace::app
