#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tests/bench/measure/frame.h"

// What the upstream of the bench reads and says: as much of HTTP and of OpenAI's chat completions as a
// gateway needs. Pure functions.
namespace millrace::bench {

struct OriginalRequests {
  std::size_t size = 0;  // of the request, head and body
  bool stream = false;
};
// nullopt: not all of it has come. One without a Content-Length has no body.
std::optional<OriginalRequests> read_request(std::string_view bytes);

std::string whole_reply();
// Head and first frame, in one piece.
std::string stream_begin(const Frame& frame);
std::string stream_frame(const Frame& frame);
std::string stream_end();

}  // namespace millrace::bench
