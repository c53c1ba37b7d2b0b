#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace millrace::cli {

// `fd` is a terminal that acts on what moves its cursor and sets its style: any whose TERM is neither "dumb"
// nor empty. Not while another thread sets the environment.
bool moves_cursor(int fd);

// What we wait for, as one line on a terminal's stderr (moves_cursor) that is gone once it is over;
// elsewhere, and when quiet, nothing. Not thread-safe.
class WaitingLine {
 public:
  WaitingLine(std::string text, bool quiet);
  ~WaitingLine();  // clears
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  void show();  // as it is
  void turn();  // with a wheel that moves by one; some ten times a second
  void clear();

 private:
  std::string text_;
  bool on_;
  bool drawn_ = false;
  unsigned turns_ = 0;
};

// A line on stderr about something that usually is over at once: it is said, once, only if that lasts. One
// thread at a time; make an Interrupt first.
class DelayedLine {
 public:
  // `off`: it is never said.
  DelayedLine(std::string text, std::chrono::milliseconds patience, bool off);
  ~DelayedLine();  // ends
  DelayedLine(const DelayedLine&) = delete;
  DelayedLine& operator=(const DelayedLine&) = delete;

  void begin();  // only the first one counts
  void end();    // nothing is said from here on

 private:
  void wait(const std::stop_token& stop);

  const std::string text_;
  const std::chrono::milliseconds patience_;
  bool done_;
  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread timer_;
};

}  // namespace millrace::cli
