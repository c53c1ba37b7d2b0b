#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/base/result.h"

namespace millrace::front {

// The one thread beside Pistache's: it waits for sockets that became writable, ticks, and runs what is posted
// to it, in order. Sockets are known by the id of their connection, never by their fd, which the kernel uses
// again.
class AuxLoop {
 public:
  struct Callbacks {
    std::function<void(std::uint64_t id)> writable;
    std::function<void()> tick;
  };

  AuxLoop() = default;
  ~AuxLoop();
  AuxLoop(const AuxLoop&) = delete;
  AuxLoop& operator=(const AuxLoop&) = delete;

  // Error: the kernel gives no fd. REQUIRES: called once.
  base::Status start(Callbacks callbacks, std::chrono::milliseconds tick_period);
  // Runs what was posted before, then ends the thread. What is posted later is dropped. Not from the loop's
  // thread.
  void stop();

  // Thread-safe, non-blocking. An exception of `task` is logged and dropped.
  void post(std::function<void()> task);

  // Reports `id` once when `fd` can be written again. `known`: this fd was armed before (kept by the caller).
  // The kernel forgets an fd when it is closed.
  void arm(int fd, std::uint64_t id, bool& known);

 private:
  void run(const std::stop_token& stop);
  void run_tasks();
  void wake() const;

  Callbacks callbacks_;
  std::chrono::milliseconds tick_period_{0};
  int epoll_ = -1;
  int wakeup_ = -1;
  std::mutex mutex_;
  bool accepting_ = false;
  std::vector<std::function<void()>> tasks_;
  std::jthread thread_;
};

}  // namespace millrace::front
