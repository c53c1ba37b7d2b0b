#pragma once
#include <string>

#include "app/command_tree.h"

namespace millrace::app {

// The page of a top command with its subcommands, as man(1) reads it; without a name that of the program.
// Empty: there is no such command.
std::string manual_page(const CommandNode& root, const std::string& command);

}  // namespace millrace::app
