#pragma once
#include <string>

// Why a command was not begun, for its client: the same words whichever machine it was for.
namespace millrace::machines {

// `code`: the errno of execve, of chdir.
std::string execute_failure(int code);
std::string folder_failure(int code);

}  // namespace millrace::machines
