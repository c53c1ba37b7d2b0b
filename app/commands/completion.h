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
// A positional argument: "inputs ..." and its help.
struct CommandWord {
  std::string name;
  std::string help;
};

// A command as help shows it. Commands that are hidden from help are not in the tree.
struct CommandNode {
  std::string path;  // "millrace jobs ls"
  std::string help;
  std::string footer;
  std::vector<std::string> also;  // aliases of the last word: "list" for "millrace jobs ls"
  std::vector<CommandFlag> flags;
  std::vector<CommandWord> words;
  std::vector<CommandNode> children;
};

// Builds the tree from the command line parser, so that man pages and completions always match it.
CommandNode command_tree(const CLI::App& app);

// A shell completion script for every command and flag. It completes commands where one is possible, flags
// after a dash, and otherwise, also for the value of a flag, what the shell completes by default (files).
// `shell`: "bash", "zsh" or "fish"; empty text for any other.
std::string completion(const CommandNode& root, const std::string& shell);

}  // namespace millrace::app
