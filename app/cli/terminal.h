#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

namespace millrace::cli {

// True if `fd` is a terminal that supports cursor movement and styles: TERM is neither "dumb" nor empty. Do
// not call while another thread changes the environment.
bool moves_cursor(int fd);

// The width of the terminal on stdout; 80 if it is not known.
std::size_t terminal_columns();

// A line on a terminal's stderr (moves_cursor) that says what we wait for; it is removed when the wait is
// over. Prints nothing elsewhere and when quiet. Not thread-safe.
class WaitingLine {
 public:
  WaitingLine(std::string text, bool quiet);
  ~WaitingLine();  // clears
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  void show();  // without a spinner
  void spin();  // with a spinner that moves by one step; call it about ten times a second
  void clear();

 private:
  std::string text_;
  bool on_;
  bool drawn_ = false;
  unsigned spin_step_ = 0;
};

// A line on stderr about an operation that usually finishes at once. It is printed once, and only if the
// operation takes longer. One thread at a time. Create an Interrupt first.
class DelayedLine {
 public:
  // `off`: the line is never printed.
  DelayedLine(std::string text, std::chrono::milliseconds delay, bool off);
  ~DelayedLine();  // ends
  DelayedLine(const DelayedLine&) = delete;
  DelayedLine& operator=(const DelayedLine&) = delete;

  void begin();  // only the first call has an effect
  void end();    // the line is not printed from here on

 private:
  void wait(const std::stop_token& stop);

  const std::string text_;
  const std::chrono::milliseconds delay_;
  bool done_;
  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread timer_;
};

}  // namespace millrace::cli
