#include "machines/jail_init/command.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machines/jail_init/limits.h"

namespace millrace::machines {
namespace {

struct Request {
  JailRequest head;
  const char* folder = nullptr;
  std::vector<char*> arguments;
  std::vector<char*> variables;
};

// Reads `count` NUL-terminated texts and advances `from` past them.
std::vector<char*> take_texts(char*& from, std::uint32_t count) {
  std::vector<char*> texts;
  texts.reserve(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    texts.push_back(from);
    from += std::strlen(from) + 1;
  }
  texts.push_back(nullptr);
  return texts;
}

// The texts stay mapped until the process ends. False: see errno.
bool read_request(Request& request) {
  struct stat file {};
  if (::fstat(kJailRequestFd, &file) != 0) return false;
  const auto size = static_cast<std::size_t>(file.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, kJailRequestFd, 0);
  if (map == MAP_FAILED) return false;
  std::memcpy(&request.head, map, sizeof request.head);
  char* next = static_cast<char*>(map) + sizeof request.head;
  request.folder = take_texts(next, 1).front();
  request.arguments = take_texts(next, request.head.arguments);
  request.variables = take_texts(next, request.head.variables);
  return true;
}

std::string search_path(const std::vector<char*>& variables) {
  for (const char* variable : variables) {
    if (variable != nullptr && std::strncmp(variable, "PATH=", 5) == 0) return variable + 5;
  }
  return {};
}

// Searches like execvp, except that a file in an unknown executable format is an error and is not passed to
// the shell. Returns only on failure, with the errno.
int execute(const Request& request) {
  char* const* arguments = request.arguments.data();
  char* const* variables = request.variables.data();
  const std::string name = request.arguments.front();
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) {
    ::execve(arguments[0], arguments, variables);
    return errno;
  }
  int result = ENOENT;
  const std::string path = search_path(request.variables) + ":";
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = path.find(':', begin);
    std::string file = end == begin ? "." : path.substr(begin, end - begin);
    file.append("/").append(name);
    ::execve(file.c_str(), arguments, variables);
    begin = end + 1;
    if (errno == EACCES) result = EACCES;  // unless a later folder contains an executable one
    if (errno != EACCES && errno != ENOENT && errno != ENOTDIR) return errno;
  }
  return result;
}

// Runs in the child, so it must not return. `report` is closed when the command is executed.
[[noreturn]] void exec_in_child(const Request& request, int report) {
  StartedCommand failed{0, JailStep::kLimits, 0};
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setsid();
  const bool streams = ::dup2(kJailStdin, 0) == 0 && ::dup2(kJailStdout, 1) == 1 &&
                       ::dup2(kJailStderr, 2) == 2 &&
                       ::syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
  if (!streams || !set_limits(request.head.limits)) {
    failed.error = errno;
  } else if (::chdir("/workspace") != 0 || ::chdir(request.folder) != 0) {
    failed.step = JailStep::kFolder;
    failed.error = errno;
  } else {
    failed.step = JailStep::kExecute;
    failed.error = execute(request);
  }
  const ssize_t written = ::write(report, &failed, sizeof failed);
  ::_exit(written == sizeof failed ? 0 : 1);
}

// Waits until the child was executed or has reported an error.
StartedCommand outcome_of(pid_t pid, int report) {
  StartedCommand failed;
  ssize_t count = 0;
  do {
    count = ::read(report, &failed, sizeof failed);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof failed) return {pid, JailStep::kNone, 0};
  ::waitpid(pid, nullptr, 0);
  return failed;
}

}  // namespace

StartedCommand begin_command() {
  Request request;
  int report[2];
  if (!read_request(request) || ::pipe2(report, O_CLOEXEC) != 0) return {-1, JailStep::kNone, errno};
  const pid_t pid = ::fork();
  if (pid == 0) exec_in_child(request, report[1]);
  if (pid < 0) return {-1, JailStep::kNone, errno};
  ::close(report[1]);
  ::close(kJailRequestFd);
  for (const int stream : {kJailStdin, kJailStdout, kJailStderr}) ::close(stream);
  const StartedCommand begun = outcome_of(pid, report[0]);
  ::close(report[0]);
  return begun;
}

}  // namespace millrace::machines
