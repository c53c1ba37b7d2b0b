#include "app/cli/delayed_line.h"

#include <cstdio>
#include <utility>

namespace millrace::cli {

DelayedLine::DelayedLine(std::string text, std::chrono::milliseconds patience, bool off)
    : text_(std::move(text)), patience_(patience), done_(off) {}

DelayedLine::~DelayedLine() { end(); }

void DelayedLine::begin() {
  if (std::exchange(done_, true)) return;
  timer_ = std::jthread([this](const std::stop_token& stop) { wait(stop); });
}

void DelayedLine::end() {
  if (!timer_.joinable()) return;
  timer_.request_stop();
  timer_.join();
}

void DelayedLine::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  over_.wait_for(lock, stop, patience_, [] { return false; });
  if (!stop.stop_requested()) std::fprintf(stderr, "%s\n", text_.c_str());
}

}  // namespace millrace::cli
