#pragma once
#include <chrono>
#include <initializer_list>

#include <signal.h>

namespace millrace::cli {

inline constexpr std::initializer_list<int> kCutOff = {SIGHUP, SIGPIPE};

// Receives Ctrl-C without a signal handler: commands detach on the first one and cancel on the second. While
// an object lives, SIGINT, SIGTERM and the signals of `also` are blocked and read from a descriptor; those of
// `also` that are ignored stay so, as after nohup. Commands that leave something running pass
// `kCutOff`: a closed terminal is read like Ctrl-C, and a write to a closed pipe fails (cut_off.h). Create it
// before other threads start.
class Interrupt {
 public:
  explicit Interrupt(std::initializer_list<int> also = {});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Waits up to `timeout` for the next signal. True if one arrived.
  bool wait(std::chrono::milliseconds timeout);
  // Waits for the next signal, or until `other` is readable. True if a signal arrived.
  bool wait_on_thread(int other);
  // The signal that arrived last; 0: none did.
  int last() const { return last_; }

 private:
  bool take();
  int fd_ = -1;
  int last_ = 0;
};

// True if a SIGINT, SIGTERM or SIGHUP is pending while they are blocked.
bool interrupt_waits();

// Starts a new line on a terminal, where Ctrl-C has printed ^C on the current one.
void end_interrupted_line();

}  // namespace millrace::cli
