#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tests/bench/measure/frame.h"

// Requests and responses of bench_upstream: the part of HTTP and of OpenAI's chat completions that a gateway
// uses. Pure functions.
namespace millrace::bench {

struct RequestInfo {
  std::size_t size = 0;  // bytes of the request, head and body
  bool stream = false;
};
// nullopt: the request is incomplete. A request without a Content-Length has no body.
std::optional<RequestInfo> read_request(std::string_view bytes);

std::string whole_reply();
// The response head and the first frame, in one buffer.
std::string stream_begin(const Frame& frame);
std::string stream_frame(const Frame& frame);
std::string stream_end();

}  // namespace millrace::bench
