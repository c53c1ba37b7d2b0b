#include "machines/prepare_failure.h"

#include <cerrno>
#include <cstring>

namespace millrace::machines {

std::string execute_failure(int code) {
  switch (code) {
    case ENOENT:
      return "the command, or the interpreter that it names, is not there";
    case ENOTDIR:
      return "the command is not there";
    case EACCES:
    case EPERM:
      return "the command is not executable";
    case EISDIR:
      return "the command is a folder";
    case ENOEXEC:
      return "the command is in no format that can be executed (a script begins with #!)";
    case E2BIG:
      return "the arguments and the environment are too large together";
    default:
      return std::string("the command cannot be executed: ") + std::strerror(code);
  }
}

std::string folder_failure(int code) {
  switch (code) {
    case ENOENT:
      return "cwd is not there";
    case ENOTDIR:
      return "cwd is not a folder";
    case EACCES:
      return "cwd may not be entered";
    default:
      return std::string("cwd cannot be entered: ") + std::strerror(code);
  }
}

}  // namespace millrace::machines
