#pragma once
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "machines/driver.h"
#include "platform/base/fd.h"
#include "platform/base/ids.h"
#include "platform/base/result.h"

namespace millrace::machines {

struct ListeningSocket {
  base::Fd socket;  // non-blocking
  int port = 0;
};

// Listens on `host` (a name or an address) and `port`. If the port is in use or 0, listens on any free port.
// Blocks for the name lookup. Errors are kHostAgentFailed.
base::Result<ListeningSocket> listening_socket(const std::string& host, int port);

// Starts the sshds of connections, each on a separate thread, because a start blocks until the machine's disk
// is ready. Thread-safe.
class SshdStarts {
 public:
  // At most `starts_max` starts run at once. `on_end` is called after each, on its thread.
  SshdStarts(int starts_max, std::function<void()> on_end)
      : starts_max_(starts_max), on_end_(std::move(on_end)) {}
  // Cancels all starts and waits for them.
  ~SshdStarts();
  SshdStarts(const SshdStarts&) = delete;
  SshdStarts& operator=(const SshdStarts&) = delete;

  bool full();
  // Runs `start` on a new thread. kOverloaded: no thread or file descriptor is left. `start` must not throw.
  // REQUIRES: `full` is false; all calls come from one thread.
  base::Status begin(const base::Uuid& machine, std::function<void(const CancelToken& stop)> start);
  // Cancels the starts of the machine.
  void stop(const base::Uuid& machine);

 private:
  struct Start {
    base::Uuid machine;
    CancelToken stop;
    bool over = false;
    std::jthread thread;
  };
  void run(Start& start, const std::function<void(const CancelToken& stop)>& act);

  const int starts_max_;
  const std::function<void()> on_end_;
  std::mutex mutex_;
  std::list<Start> starts_;
};

}  // namespace millrace::machines
