#pragma once
#include <string>

#include "app/command_tree.h"

namespace millrace::app {

// A completion of every command and flag for a shell: commands where one may stand, flags after a dash, else,
// and where a flag wants its value, what the shell completes by itself (files). `shell`: "bash", "zsh" or
// "fish"; empty text for another one.
std::string completion(const CommandNode& root, const std::string& shell);

}  // namespace millrace::app
