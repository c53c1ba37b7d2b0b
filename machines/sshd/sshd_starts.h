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
  base::Fd socket;  // does not block
  int port = 0;
};

// Listens at `host` (a name or an address) and `port`, or, if that is taken or 0, at any port. Blocks for the
// name. kHostAgentFailed.
base::Result<ListeningSocket> listening_socket(const std::string& host, int port);

// Threads that start the sshds of connections, each its own: a start blocks for as long as its machine's disk
// does. Thread-safe.
class SshdStarts {
 public:
  // At most so many at once. `on_end`: after each, on its thread.
  SshdStarts(int starts_max, std::function<void()> on_end)
      : starts_max_(starts_max), on_end_(std::move(on_end)) {}
  // Tells all of them to stop, and waits for them.
  ~SshdStarts();
  SshdStarts(const SshdStarts&) = delete;
  SshdStarts& operator=(const SshdStarts&) = delete;

  bool full();
  // kOverloaded: no thread or descriptor is left. `start` does not throw. REQUIRES: it is not full; one
  // thread begins all of them.
  base::Status begin(const base::Uuid& machine, std::function<void(const CancelToken& stop)> start);
  // Tells those of the machine.
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
