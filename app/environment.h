#pragma once
#include <map>
#include <string>

namespace millrace::app {

// The variables that the program was started with, by name. Not beside a thread that sets one.
std::map<std::string, std::string> environment();

}  // namespace millrace::app
