#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::process {

// What to start. `argv[0]` is an absolute path; nothing is looked up in PATH and no shell is involved.
struct Command {
  struct Mapping {
    int child_fd;   // its number in the child
    int parent_fd;  // borrowed until `spawn` has returned
  };
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value; the whole environment of the child
  std::vector<Mapping> fds;  // 0, 1, 2 are /dev/null unless mapped; every other descriptor is closed
  bool idle = false;         // run in SCHED_IDLE (inherited by what the child starts)
  // Killed when the process that starts it is gone, kill -9 included; what the child starts is not. By
  // setpriv, so that a program that the kernel refuses to execute is an exit code.
  bool dies_with_us = false;
};

// A started process, not yet owned: `Child` owns it.
struct Spawned {
  pid_t pid = -1;  // also its process group
  base::Fd pidfd;
};

// The one thread that starts children (posix_spawn, own process group, default signals, empty mask). The
// kernel ties PR_SET_PDEATHSIG (bwrap --die-with-parent) to the *thread* that started a child: keep the
// spawner alive as long as any child, and destroy it last. Thread-safe.
class Spawner {
 public:
  struct Options {
    // As root: children see mounts of their own, which nobody else sees and which go with the last of them
    // and this thread, also after kill -9. Without the right to it they see the host's.
    bool own_mounts = false;
  };
  Spawner() : Spawner(Options{}) {}
  explicit Spawner(Options options);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Blocks for the start, about a millisecond. kInternal: the program could not be executed.
  base::Result<Spawned> spawn(const Command& command);
  // True if `own_mounts` was asked for and is so.
  bool has_own_mounts() const;
  // The root folder as its children see it (O_PATH), to open files that lie on their mounts.
  base::Result<base::Fd> root() const;

 private:
  struct Request;
  void run(const std::stop_token& stop, bool own_mounts);
  void look_around(bool own_mounts);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Request*> requests_;
  bool ready_ = false;  // the two that follow are set, for good
  bool own_mounts_ = false;
  base::Fd root_;
  std::jthread thread_;
};

}  // namespace millrace::process
