// millrace-jail-init: the first process of a command's jail. It begins the command, reaps what is left to it,
// passes SIGTERM on to all processes of the jail and says how the command ended; with it ends the jail. It is
// linked statically and allocates little: it must start fast, and nothing that the command brings along
// (LD_PRELOAD, a broken library) may reach it. A resident program it runs to its end.
// And before there is a jail it becomes bubblewrap as the machine's user.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
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

// The next word of the gateway; nullopt: it is gone.
std::optional<JailCommand> receive_command() {
  JailMessage message;
  ssize_t count = 0;
  do {
    count = ::recv(kJailSocket, &message, sizeof message, 0);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof message) return std::nullopt;
  return message.word;
}

// Reaps all that have ended. The wait status of `command` once it is among them.
std::optional<int> reap(pid_t command) {
  std::optional<int> result;
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    if (pid == command) result = status;
  }
  return result;
}

// To every process of the jail but this one; stopped ones are woken to take it.
void terminate_all() {
  ::kill(-1, SIGTERM);
  ::kill(-1, SIGCONT);
}

// Until the command has ended (its wait status) or the gateway is gone.
std::optional<int> attend(pid_t command, int child_ended) {
  for (;;) {
    pollfd fds[] = {{child_ended, POLLIN, 0}, {kJailSocket, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[0].revents != 0) {
      signalfd_siginfo ended{};
      if (::read(child_ended, &ended, sizeof ended) != sizeof ended) continue;
      if (const auto status = reap(command)) return status;
    }
    if (fds[1].revents != 0) {
      const auto word = receive_command();
      if (!word) return std::nullopt;
      if (*word == JailCommand::kTerminate) terminate_all();
    }
  }
}

int run() {
  ::close(kJailProgram);
  JailRequest order;
  if (::pread(kJailOrder, &order, sizeof order, 0) != sizeof order) return 1;
  if (!enter_groups(kJailGroups, order.limits.groups)) {
    return report({JailCommand::kNotBegun, JailStep::kGroups, errno}) ? 0 : 1;
  }
  // Neither its memory nor its descriptors are open to the command, which has the same uid.
  ::prctl(PR_SET_DUMPABLE, 0);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  const int child_ended = ::signalfd(-1, &child, SFD_CLOEXEC);
  if (child_ended < 0 || !report({JailCommand::kReady, JailStep::kNone, 0}) ||
      receive_command() != JailCommand::kGo)
    return 1;
  const BegunCommand begun = begin_command();
  if (begun.pid <= 0) return report({JailCommand::kNotBegun, begun.step, begun.error}) ? 0 : 1;
  const auto status = attend(begun.pid, child_ended);
  return status && report({JailCommand::kEnded, JailStep::kNone, *status}) ? 0 : 1;
}

}  // namespace
}  // namespace millrace::machines

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], millrace::machines::kJailUser) == 0) {
    return millrace::machines::become_user(words + 2);
  }
  if (::getpid() != 1) {
    std::fputs("millrace-jail-init: starts as the first process of a jail only; see `millrace exec`\n",
               stderr);
    return 2;
  }
  const bool is_resident = count > 1 && std::strcmp(words[1], millrace::machines::kJailResident) == 0;
  ::_exit(is_resident ? millrace::machines::run_resident(words + 2) : millrace::machines::run());
}
