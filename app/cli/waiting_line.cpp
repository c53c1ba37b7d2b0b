#include "app/cli/waiting_line.h"

#include <cstdio>
#include <string_view>

#include <unistd.h>

#include "app/cli/terminal.h"

namespace millrace::cli {
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

void WaitingLine::turn() {
  if (!on_) return;
  std::fprintf(stderr, "\r%c %s\x1b[K", kWheel[turns_++ % kWheel.size()], text_.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void WaitingLine::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace millrace::cli
