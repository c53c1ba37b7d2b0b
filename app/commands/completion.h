#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}
namespace millrace::app {

struct CommandFlag {
  std::vector<std::string> names;  // "--output", "-o": the long ones first
  std::string value;               // "TEXT"; empty: a switch
  std::string help;
};
// What a command takes beside flags: "inputs ..." and what it is.
struct CommandWord {
  std::string name;
  std::string help;
};

// A command as people see it. Help that nobody is shown is not in it.
struct CommandNode {
  std::string path;  // "millrace jobs ls"
  std::string help;
  std::string footer;
  std::vector<std::string> also;  // other last words that are understood: "list" of "millrace jobs ls"
  std::vector<CommandFlag> flags;
  std::vector<CommandWord> words;
  std::vector<CommandNode> children;
};

// From what reads the command line itself, so that pages and completions never know another one.
CommandNode command_tree(const CLI::App& app);

// A completion of every command and flag for a shell: commands where one may stand, flags after a dash, else,
// and where a flag wants its value, what the shell completes by itself (files). `shell`: "bash", "zsh" or
// "fish"; empty text for another one.
std::string completion(const CommandNode& root, const std::string& shell);

}  // namespace millrace::app
