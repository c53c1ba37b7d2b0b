#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::bench {

// The text of a streamed delta: bench_upstream writes it and the client reads it. It has the number of the
// frame in its stream and the time at which it was sent. Both programs run on one machine and use one clock.
struct Frame {
  std::uint64_t number = 0;
  std::chrono::steady_clock::time_point sent;
};

std::string frame_text(const Frame& frame);
// All frames in `event`, in their order.
std::vector<Frame> frames_in(std::string_view event);

}  // namespace millrace::bench
