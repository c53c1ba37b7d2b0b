#include "app/cli/terminal.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace millrace::cli {

bool moves_cursor(int fd) {
  const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  const std::string_view name = kind == nullptr ? "" : kind;
  return !name.empty() && name != "dumb" && ::isatty(fd) == 1;
}

std::size_t terminal_columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

namespace {

constexpr std::string_view kWheel = "|/-\\";

}  // namespace

WaitingLine::WaitingLine(std::string text, bool quiet)
    : text_(std::move(text)), on_(!quiet && moves_cursor(STDERR_FILENO)) {}

WaitingLine::~WaitingLine() { clear(); }

void WaitingLine::show() {
  if (!on_) return;
  std::fprintf(stderr, "\r%s\x1b[K", text_.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void WaitingLine::spin() {
  if (!on_) return;
  std::fprintf(stderr, "\r%c %s\x1b[K", kWheel[spin_step_++ % kWheel.size()], text_.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void WaitingLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

DelayedLine::DelayedLine(std::string text, std::chrono::milliseconds delay, bool off)
    : text_(std::move(text)), delay_(delay), done_(off) {}

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
  over_.wait_for(lock, stop, delay_, [] { return false; });
  if (!stop.stop_requested()) std::fprintf(stderr, "%s\n", text_.c_str());
}

}  // namespace millrace::cli
