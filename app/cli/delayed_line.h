#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace millrace::cli {

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
