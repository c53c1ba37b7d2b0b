#pragma once
#include <string>

namespace millrace::app {

// Where `millrace-engine` lies: beside this program. It may not be there; who starts it says so.
std::string engine_program();

}  // namespace millrace::app
