#pragma once
#include <chrono>

namespace millrace::cli {

// Ctrl-C as data: the first time a command detaches, the second time it cancels. SIGINT and SIGTERM are
// blocked and read from a descriptor while it lives; make it before other threads start.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Waits up to `timeout` for the next one; true if it came.
  bool wait(std::chrono::milliseconds timeout);
  // Waits for the next one, or until there is something to read from `other`; true if it came.
  bool wait_beside(int other);

 private:
  bool take();
  int fd_ = -1;
};

}  // namespace millrace::cli
