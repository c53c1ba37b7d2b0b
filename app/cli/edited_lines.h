#pragma once
#include <memory>

#include "app/cli/chat_lines.h"

namespace millrace::cli {

// Lines that are edited where they are typed, by libedit: its keys, and those of the user's ~/.editrc.
// REQUIRES: standard input and error are a terminal. Sets the program's LC_CTYPE. Null: libedit cannot.
std::unique_ptr<ChatLines> edited_lines(Interrupt& interrupt, ChatHistory& history);

}  // namespace millrace::cli
