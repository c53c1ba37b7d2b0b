#pragma once
#include <chrono>
#include <cstddef>

namespace millrace::inference {

struct McpLimits {
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds list_timeout{30'000};      // of connecting and listing, over all pages
  std::chrono::milliseconds greeting_timeout{10'000};  // of that the making of a session
  // Of that the wait for the first event of a server that refused `initialize`: it may be of the first
  // version.
  std::chrono::milliseconds place_timeout{3'000};
  std::chrono::milliseconds call_timeout{120'000};  // of one call
  std::size_t reply_bytes_max = 8u << 20;           // of one reply on the wire, and of a server's tools
  std::size_t stream_bytes_max = 64u << 20;         // of a conversation whose answers come in one stream
  std::size_t result_bytes_max = 256u << 10;  // of a result's text as the model is told it; cut, and said so
  int tools_max = 512;                        // of one server
  int pages_max = 64;                         // of its list of tools
  int schema_depth_max = 32;
};

}  // namespace millrace::inference
