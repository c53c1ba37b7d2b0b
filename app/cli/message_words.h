#pragma once
#include <string>
#include <vector>

namespace millrace::cli {

class Interrupt;

// The words of a message with a space between them, "-" being standard input. kOk, or what is wrong has been
// said on stderr; kInterrupted: Ctrl-C.
int read_message(const std::vector<std::string>& words, Interrupt& interrupt, std::string& message);

}  // namespace millrace::cli
