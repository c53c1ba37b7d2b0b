#include "workers/wake_command.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "platform/process/child.h"
#include "platform/process/poll_limit.h"
#include "schemas/execution.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kLineMax = 200;

// The last line that is not empty, of what comes in pieces.
class LastLine {
 public:
  void take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n') {
        if (!line_.empty()) last_ = std::exchange(line_, {});
      } else if (line_.size() < kLineMax && c != '\r') {
        line_ += c;
      }
    }
  }
  std::string get() const {
    const std::string& line = line_.empty() ? last_ : line_;
    return schemas::is_text(line) ? line : "";
  }

 private:
  std::string line_, last_;
};

std::string inherited(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets one
  return std::string(name) + '=' + (value != nullptr ? value : otherwise);
}

process::Command command_of(const schemas::Machine& machine, const std::vector<std::string>& argv,
                            int output) {
  process::Command command;
  command.argv = argv;
  command.environment = {inherited("PATH", "/usr/local/bin:/usr/bin:/bin"), inherited("HOME", "/"),
                         "LANG=C.UTF-8", "MILLRACE_MACHINE_ID=" + schemas::machine_id(machine.id),
                         "MILLRACE_MACHINE_NAME=" + machine.name};
  command.fds = {{1, output}, {2, output}};
  command.dies_with_us = true;  // the next gateway runs it again
  return command;
}

// Reads what is there; false: nothing more will come.
bool read_some(int fd, LastLine& line) {
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got > 0) {
      line.take({piece.data(), static_cast<std::size_t>(got)});
    } else if (got == 0 || errno != EINTR) {
      return got < 0 && errno == EAGAIN;
    }
  }
}

std::string how(const process::Exit& exit, const std::string& line) {
  const std::string by = exit.signal != 0 ? "was ended by signal " + std::to_string(exit.signal)
                                          : "ended with exit code " + std::to_string(exit.code);
  return "the wake command " + by + (line.empty() ? "" : ": " + line);
}

base::Result<bool> follow(process::Child& child, const base::Fd& output, Steady::time_point deadline,
                          const machines::StopSwitch& stop) {
  LastLine line;
  bool open = true;
  while (!child.wait(milliseconds(0))) {
    std::array<pollfd, 3> waited{
        {{child.pidfd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}, {open ? output.get() : -1, POLLIN, 0}}};
    const int ready = ::poll(waited.data(), waited.size(), process::poll_limit(deadline));
    if (ready == 0) return wake_failed("the wake command did not end within the wake rule's timeout");
    if (waited[1].revents != 0) return false;
    if (waited[2].revents != 0) open = read_some(output.get(), line);
  }
  const process::Exit exit = *child.wait(milliseconds(0));
  if (exit.ok()) return true;
  if (open) read_some(output.get(), line);
  return wake_failed(how(exit, line.get()));
}

}  // namespace

base::Error wake_failed(std::string message) {
  return base::error(base::Code::kMachineWakeFailed, std::move(message));
}

base::Result<bool> run_wake_command(process::Spawner& spawner, const schemas::Machine& machine,
                                    const std::vector<std::string>& argv, Steady::time_point deadline,
                                    const machines::StopSwitch& stop) {
  auto output = base::make_pipe();
  if (!output) return output.error();
  ::fcntl(output->read.get(), F_SETFL, O_NONBLOCK);
  auto child = process::Child::start(spawner, command_of(machine, argv, output->write.get()));
  if (!child) return wake_failed("the wake command cannot be started");
  output->write.reset();
  return follow(*child, output->read, deadline, stop);
}

}  // namespace millrace::workers
