#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "platform/process/spawner.h"

namespace millrace::process {

// How a child ended: by itself (`signal` 0) or by a signal.
struct Exit {
  int code = 0;
  int signal = 0;
  bool ok() const { return code == 0 && signal == 0; }
};

// Owner of one child and its process group: what is left of it is killed and reaped by the destructor, as
// `end` says. Not thread-safe.
class Child {
 public:
  static base::Result<Child> start(Spawner& spawner, const Command& command);
  // Takes a started one over.
  explicit Child(Spawned spawned) : spawned_(std::move(spawned)) {}
  Child(Child&&) noexcept = default;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  pid_t pid() const { return spawned_.pid; }
  // Readable once the child has ended. Borrowed.
  int pidfd() const { return spawned_.pidfd.get(); }
  // Waits up to `timeout` for the end; nullopt: it runs still. After the end the same Exit again.
  std::optional<Exit> wait(std::chrono::milliseconds timeout);
  // SIGKILL to the process group; a jailed tree goes with its PID namespace.
  void kill_tree();
  // Kills what is left and reaps the child, for which it waits so long: one that a dead disk or a debugger
  // holds is left to the kernel then, and to init after us. False: that is so, and a log line names it. No
  // other call but the destructor may follow.
  bool end(std::chrono::milliseconds within = kEndWithin);
  static constexpr std::chrono::milliseconds kEndWithin{5'000};

 private:
  Spawned spawned_;
  std::optional<Exit> exit_;
};

struct CaptureLimits {
  std::chrono::milliseconds wall{10'000};
  std::size_t output_bytes_max = std::size_t{1} << 20;  // per stream; the rest is read and dropped
};

struct Captured {
  Exit exit;
  std::string out;
  std::string err;
  bool truncated = false;
  bool timed_out = false;  // killed at `wall`
  bool stopped = false;    // killed, as one of `stops` was readable
};

// Starts `command` with stdout and stderr captured (its own mappings of 1 and 2 must be absent) and waits for
// its end. A stray grandchild that holds the pipes delays the return by at most 500 ms. `stops`: descriptors,
// borrowed and not read from; what runs is killed once one of them is readable.
base::Result<Captured> capture(Spawner& spawner, Command command, const CaptureLimits& limits,
                               const std::vector<int>& stops = {});

// How long poll(2) may wait for what is due by then, in ms: 0 if that has passed, an hour at most.
int poll_limit(std::chrono::steady_clock::time_point deadline);

}  // namespace millrace::process
