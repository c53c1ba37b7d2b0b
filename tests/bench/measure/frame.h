#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::bench {

// What the upstream of the bench says in a streamed delta, and the client finds again: which frame of its
// stream it is, and when it was sent (both run on one machine, by one clock).
struct Frame {
  std::uint64_t number = 0;
  std::chrono::steady_clock::time_point sent;
};

std::string frame_text(const Frame& frame);
// All that stand in `event`, in their order.
std::vector<Frame> frames_in(std::string_view event);

}  // namespace millrace::bench
