#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "platform/process/spawner.h"

namespace millrace::process {

// How a child ended: with an exit code (`signal` is 0) or by a signal.
struct Exit {
  int code = 0;
  int signal = 0;
  std::chrono::milliseconds cpu{0};  // processor time of the child and of the children that it waited for
  bool ok() const { return code == 0 && signal == 0; }
};

// Owns one child and its process group. The destructor kills and reaps what is left, as described for `end`.
// Not thread-safe.
class Child {
 public:
  static base::Result<Child> start(Spawner& spawner, const Command& command);
  // Takes ownership of a started child.
  explicit Child(Spawned spawned) : spawned_(std::move(spawned)) {}
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return spawned_.pid; }
  // Becomes readable when the child has ended. Borrowed.
  int pidfd() const { return spawned_.pidfd.get(); }
  // Waits up to `timeout` for the child to end. nullopt: it is still running. Later calls return the same
  // Exit.
  std::optional<Exit> wait(std::chrono::milliseconds timeout);
  // Sends SIGKILL to the process group. A jailed tree dies with its PID namespace.
  void kill_tree();
  // Kills what is left and waits up to `within` to reap the child. A child that is stuck on a dead disk or
  // held by a debugger is left to the kernel, and to init after we exit. False: the child was left; a log
  // line names it. After that, only the destructor may be called.
  bool end(std::chrono::milliseconds within = kEndWithin);
  static constexpr std::chrono::milliseconds kEndWithin{5'000};

 private:
  Spawned spawned_;
  std::optional<Exit> exit_;
};

struct CaptureLimits {
  std::chrono::milliseconds wall{10'000};
  std::size_t output_bytes_max = std::size_t{1} << 20;  // per stream; further output is read and dropped
};

struct Captured {
  Exit exit;
  std::string out;
  std::string err;
  bool truncated = false;
  bool timed_out = false;  // killed at `wall`
  bool stopped = false;    // killed because one of `stops` was readable
};

// Starts `command`, captures its stdout and stderr (it must not map 1 and 2 itself) and waits until it ends.
// A grandchild that keeps the pipes open delays the return by at most 500 ms. `stops` are borrowed
// descriptors that are not read from. When one becomes readable, the command is killed.
base::Result<Captured> capture(Spawner& spawner, Command command, const CaptureLimits& limits,
                               const std::vector<int>& stops = {});

// The time-out in milliseconds for a poll(2) that must return by `deadline`: 0 if it has passed, at most an
// hour.
int poll_limit(std::chrono::steady_clock::time_point deadline);

}  // namespace millrace::process
