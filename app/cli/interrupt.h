#pragma once
#include <chrono>
#include <initializer_list>

namespace millrace::cli {

// Ctrl-C as data: the first time a command detaches, the second time it cancels. SIGINT and SIGTERM are
// blocked and read from a descriptor while it lives, and so are the signals of `also`; make it before other
// threads start.
class Interrupt {
 public:
  explicit Interrupt(std::initializer_list<int> also = {});
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

// A SIGINT or SIGTERM has come while they are blocked, and nobody has taken it yet.
bool interrupt_waits();

// What is said next stands on a line of its own: on a terminal Ctrl-C has left its ^C on this one.
void end_interrupted_line();

}  // namespace millrace::cli
