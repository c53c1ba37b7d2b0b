#include "platform/process/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::process {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// How long we keep reading from the pipes after the child has ended (grandchildren may keep them open).
constexpr milliseconds kDrainGrace{500};

// One captured stream. Appends up to the limit and marks the rest as truncated.
struct Sink {
  base::Fd fd;
  std::string* text;

  void read_some(std::size_t bytes_max, bool& truncated) {
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count <= 0) return fd.reset();
    const std::size_t bytes_left = bytes_max - std::min(bytes_max, text->size());
    const std::size_t kept = std::min(bytes_left, static_cast<std::size_t>(count));
    text->append(buffer.data(), kept);
    truncated = truncated || kept < static_cast<std::size_t>(count);
  }
};

class Capture {
 public:
  Capture(Child child, base::Fd out, base::Fd err, const CaptureLimits& limits, const std::vector<int>& stops)
      : child_(std::move(child)),
        limits_(limits),
        stops_(stops),
        sinks_{Sink{std::move(out), &result_.out}, Sink{std::move(err), &result_.err}} {}

  Captured run() {
    deadline_ = Steady::now() + limits_.wall;
    while (open() || !ended_) {
      if (!step()) break;
    }
    result_.exit = child_.wait(milliseconds(0)).value_or(Exit{0, SIGKILL});
    return std::move(result_);
  }

 private:
  bool open() const { return static_cast<bool>(sinks_[0].fd) || static_cast<bool>(sinks_[1].fd); }

  std::vector<pollfd> watched() const {
    std::vector<pollfd> fds{{sinks_[0].fd.get(), POLLIN, 0},
                            {sinks_[1].fd.get(), POLLIN, 0},
                            {ended_ ? -1 : child_.pidfd(), POLLIN, 0}};
    for (const int stop : stops_) fds.push_back({stop, POLLIN, 0});
    return fds;
  }

  // Waits for one poll. False: the deadline (of the child, or of processes that keep its pipes open) has
  // passed, or a stop was requested.
  bool step() {
    std::vector<pollfd> fds = watched();
    if (::poll(fds.data(), fds.size(), poll_limit(deadline_)) == 0) return time_out();
    for (std::size_t i = 0; i < sinks_.size(); ++i) {
      if (fds[i].revents != 0) sinks_[i].read_some(limits_.output_bytes_max, result_.truncated);
    }
    const auto has_events = [](const pollfd& fd) { return fd.revents != 0; };
    if (!ended_ && std::any_of(fds.begin() + kStops, fds.end(), has_events)) return stop();
    if (fds[2].revents != 0 && child_.wait(milliseconds(0))) {
      ended_ = true;
      deadline_ = Steady::now() + kDrainGrace;
    }
    return true;
  }

  bool time_out() {
    child_.kill_tree();
    if (ended_) return false;
    result_.timed_out = true;
    child_.wait(kDrainGrace);
    return false;
  }

  bool stop() {
    child_.kill_tree();
    result_.stopped = true;
    child_.wait(kDrainGrace);
    return false;
  }

  // first stop in `watched`; the entries before belong to the child
  static constexpr std::ptrdiff_t kStops = 3;
  Child child_;
  const CaptureLimits& limits_;
  const std::vector<int>& stops_;
  Captured result_;
  std::array<Sink, 2> sinks_;
  Steady::time_point deadline_;
  bool ended_ = false;
};

// False: the child has not ended by then, or its tracer has not released it.
bool reap(const base::Fd& pidfd, Steady::time_point deadline) {
  constexpr int kAgainMs = 10;
  pollfd ended{pidfd.get(), POLLIN, 0};
  ::poll(&ended, 1, poll_limit(deadline));
  for (;;) {
    siginfo_t info{};
    const int failed = ::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG);
    if (failed != 0 || info.si_pid != 0) return true;
    if (Steady::now() >= deadline) return false;
    ::poll(nullptr, 0, kAgainMs);
  }
}

milliseconds duration_of(const timeval& time) {
  using std::chrono::duration_cast;
  return duration_cast<milliseconds>(std::chrono::seconds(time.tv_sec) +
                                     std::chrono::microseconds(time.tv_usec));
}

// The name of the process in the kernel. REQUIRES: it has not been reaped.
std::string name_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

}  // namespace

base::Result<Child> Child::start(Spawner& spawner, const Command& command) {
  auto spawned = spawner.spawn(command);
  if (!spawned) return std::move(spawned.error());
  return Child(std::move(*spawned));
}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    end();
    spawned_ = std::move(other.spawned_);
    exit_ = other.exit_;
  }
  return *this;
}

Child::~Child() { end(); }

std::optional<Exit> Child::wait(milliseconds timeout) {
  if (exit_ || !spawned_.pidfd) return exit_;
  pollfd fd{spawned_.pidfd.get(), POLLIN, 0};
  const auto deadline = Steady::now() + timeout;
  while (::poll(&fd, 1, poll_limit(deadline)) < 0 && errno == EINTR) {
  }
  siginfo_t info{};
  const auto id = static_cast<id_t>(spawned_.pidfd.get());
  // The child is not reaped until `end`. The zombie keeps its process id, so killing the group cannot hit
  // another process. The function of libc does not return the usage.
  rusage used{};
  if (::syscall(SYS_waitid, P_PIDFD, id, &info, WEXITED | WNOHANG | WNOWAIT, &used) != 0 || info.si_pid == 0)
    return std::nullopt;
  const bool by_itself = info.si_code == CLD_EXITED;
  exit_ = {by_itself ? info.si_status : 0, by_itself ? 0 : info.si_status,
           duration_of(used.ru_utime) + duration_of(used.ru_stime)};
  return exit_;
}

void Child::kill_tree() {
  if (spawned_.pidfd) ::kill(-spawned_.pid, SIGKILL);
}

bool Child::end(milliseconds within) {
  if (!spawned_.pidfd) return true;
  kill_tree();
  const bool ended = reap(spawned_.pidfd, Steady::now() + within);
  if (!ended)
    base::log_error("child_survived_sigkill", {{"pid", spawned_.pid}, {"program", name_of(spawned_.pid)}});
  spawned_.pidfd.reset();
  return ended;
}

base::Result<Captured> capture(Spawner& spawner, Command command, const CaptureLimits& limits,
                               const std::vector<int>& stops) {
  auto out = base::make_pipe();
  auto err = base::make_pipe();
  if (!out) return std::move(out.error());
  if (!err) return std::move(err.error());
  command.fds.push_back({1, out->write.get()});
  command.fds.push_back({2, err->write.get()});
  auto child = Child::start(spawner, command);
  if (!child) return std::move(child.error());
  out->write.reset();
  err->write.reset();
  return Capture(std::move(*child), std::move(out->read), std::move(err->read), limits, stops).run();
}

int poll_limit(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, 3'600'000));
}

}  // namespace millrace::process
