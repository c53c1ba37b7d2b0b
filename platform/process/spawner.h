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

// The process to start. `argv[0]` must be an absolute path. PATH is not searched and no shell is used.
struct Command {
  struct Mapping {
    int child_fd;   // its number in the child
    int parent_fd;  // borrowed until `spawn` has returned
  };
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value; the whole environment of the child
  std::vector<Mapping> fds;  // 0, 1, 2 are /dev/null unless mapped; all other descriptors are closed
  bool idle = false;         // run in SCHED_IDLE; child processes inherit it
  // The child is killed when the process that starts it ends, even after kill -9. Processes that the child
  // starts are not killed. Implemented with setpriv, so a program that the kernel cannot execute shows up as
  // an exit code.
  bool kill_with_parent = false;
};

// A started process that has no owner yet. `Child` takes ownership.
struct Spawned {
  pid_t pid = -1;  // also the id of its process group
  base::Fd pidfd;
};

// The thread that starts all children (posix_spawn, with a new process group, default signal handlers and an
// empty signal mask). The kernel ties PR_SET_PDEATHSIG (bwrap --die-with-parent) to the *thread* that started
// a child. So keep the spawner alive while any child runs, and destroy it last. Thread-safe.
class Spawner {
 public:
  struct Options {
    // If root: children get a private mount namespace. Its mounts are not visible elsewhere and disappear
    // when the last child and this thread have ended, even after kill -9. Without the privilege, children use
    // the host's mounts.
    bool own_mounts = false;
  };
  Spawner() : Spawner(Options{}) {}
  explicit Spawner(Options options);
  ~Spawner();
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  // Blocks for about a millisecond. kInternal: the program could not be executed.
  base::Result<Spawned> spawn(const Command& command);
  // True if `own_mounts` was requested and succeeded.
  bool has_own_mounts() const;
  // The root folder in the mount namespace of the children (O_PATH). Use it to open files on their mounts.
  base::Result<base::Fd> root() const;

 private:
  struct Request;
  void run(const std::stop_token& stop, bool own_mounts);
  void detach_mounts(bool own_mounts);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Request*> requests_;
  bool ready_ = false;  // the next two members are set and do not change any more
  bool own_mounts_ = false;
  base::Fd root_;
  std::jthread thread_;
};

}  // namespace millrace::process
