#include "tests/bench/measure/frame.h"

#include <charconv>

namespace millrace::bench {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::string_view kMark = "frame#";

}  // namespace

std::string frame_text(const Frame& frame) {
  const auto sent = std::chrono::duration_cast<nanoseconds>(frame.sent.time_since_epoch()).count();
  std::string text(kMark);
  return text.append(std::to_string(frame.number)).append("@").append(std::to_string(sent)).append(";");
}

std::vector<Frame> frames_in(std::string_view event) {
  std::vector<Frame> frames;
  const char* const end = event.data() + event.size();
  for (std::size_t at = event.find(kMark); at != std::string_view::npos; at = event.find(kMark, at)) {
    at += kMark.size();
    Frame frame;
    std::int64_t sent = 0;
    const auto number = std::from_chars(event.data() + at, end, frame.number);
    if (number.ec != std::errc{} || number.ptr == end || *number.ptr != '@') continue;
    if (std::from_chars(number.ptr + 1, end, sent).ec != std::errc{}) continue;
    frame.sent = steady_clock::time_point(nanoseconds(sent));
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace millrace::bench
