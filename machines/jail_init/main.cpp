// millrace-jail-init: the first process of a command's jail. It starts the command, reaps orphaned processes,
// forwards SIGTERM to all processes of the jail and reports how the command ended. When it exits, the jail
// ends. It is linked statically and allocates little, because it must start fast and must not be affected by
// files of the command (LD_PRELOAD, a broken library).
//
// It also runs resident programs until they end. Outside, before a jail exists, it executes bubblewrap as the
// machine's user.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machines/jail_init/command.h"
#include "machines/jail_init/limits.h"
#include "machines/jail_init/resident.h"
#include "machines/jail_init/user.h"
#include "machines/sandbox/jail_protocol.h"

namespace millrace::machines {
namespace {

bool report(const JailMessage& message) {
  return ::send(kJailSocket, &message, sizeof message, MSG_NOSIGNAL) == sizeof message;
}

// The next message of the gateway. nullopt: the gateway is gone.
std::optional<JailMessageType> receive_command() {
  JailMessage message;
  ssize_t count = 0;
  do {
    count = ::recv(kJailSocket, &message, sizeof message, 0);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof message) return std::nullopt;
  return message.type;
}

// Reaps all processes that have ended. Returns the wait status of `command` if it is one of them.
std::optional<int> reap(pid_t command, JailUsage& usage) {
  std::optional<int> result;
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    if (pid == command) {
      result = status;
    } else if (WIFSIGNALED(status)) {
      usage.orphan_xfsz |= WTERMSIG(status) == SIGXFSZ;
      usage.orphan_xcpu |= WTERMSIG(status) == SIGXCPU;
    }
  }
  return result;
}

std::uint64_t cpu_ms_of_children() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto ms = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1000 + static_cast<std::uint64_t>(time.tv_usec) / 1000;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

// Sends SIGTERM to every other process of the jail. SIGCONT wakes stopped processes so that they receive it.
void terminate_all() {
  ::kill(-1, SIGTERM);
  ::kill(-1, SIGCONT);
}

// Waits until the command has ended and returns its wait status. nullopt: the gateway is gone.
std::optional<int> wait_for_command(pid_t command, int child_ended, JailUsage& usage) {
  for (;;) {
    pollfd fds[] = {{child_ended, POLLIN, 0}, {kJailSocket, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[0].revents != 0) {
      signalfd_siginfo ended{};
      if (::read(child_ended, &ended, sizeof ended) != sizeof ended) continue;
      if (const auto status = reap(command, usage)) return status;
    }
    if (fds[1].revents != 0) {
      const auto type = receive_command();
      if (!type) return std::nullopt;
      if (*type == JailMessageType::kTerminate) terminate_all();
    }
  }
}

// Waits until no other process of the jail is left, or a message of the gateway comes, or its socket is
// closed. Orphans become our children.
void wait_for_rest(int child_ended) {
  for (;;) {
    pid_t pid = 0;
    do {
      pid = ::waitpid(-1, nullptr, WNOHANG);
    } while (pid > 0);
    if (pid < 0) return;
    pollfd fds[] = {{child_ended, POLLIN, 0}, {kJailSocket, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents != 0) return;
    signalfd_siginfo ended{};
    static_cast<void>(!::read(child_ended, &ended, sizeof ended));
  }
}

int run() {
  ::close(kJailProgram);
  JailRequest request;
  if (::pread(kJailRequestFd, &request, sizeof request, 0) != sizeof request) return 1;
  if (!enter_groups(kJailGroups, request.limits.groups)) {
    return report({JailMessageType::kNotStarted, JailStep::kGroups, errno}) ? 0 : 1;
  }
  // The command has the same uid, so this denies it access to our memory and descriptors.
  ::prctl(PR_SET_DUMPABLE, 0);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  const int child_ended = ::signalfd(-1, &child, SFD_CLOEXEC);
  if (child_ended < 0 || !report({JailMessageType::kReady, JailStep::kNone, 0}) ||
      receive_command() != JailMessageType::kGo)
    return 1;
  const StartedCommand begun = begin_command();
  if (begun.pid <= 0) return report({JailMessageType::kNotStarted, begun.step, begun.error}) ? 0 : 1;
  JailUsage usage;
  const auto status = wait_for_command(begun.pid, child_ended, usage);
  usage.cpu_ms = cpu_ms_of_children();
  if (!status || !report({JailMessageType::kEnded, JailStep::kNone, *status, usage})) return 1;
  wait_for_rest(child_ended);
  return 0;
}

}  // namespace
}  // namespace millrace::machines

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], millrace::machines::kJailUser) == 0) {
    return millrace::machines::become_user(arguments + 2);
  }
  if (::getpid() != 1) {
    std::fputs("millrace-jail-init: can only run as the first process of a jail; use `millrace exec`\n",
               stderr);
    return 2;
  }
  const bool is_resident = count > 1 && std::strcmp(arguments[1], millrace::machines::kJailResident) == 0;
  ::_exit(is_resident ? millrace::machines::run_resident(arguments + 2) : millrace::machines::run());
}
