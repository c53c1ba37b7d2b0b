#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "tests/bench/measure/histogram.h"

namespace millrace::bench {

// Streams to ask for: so many at the same time, each on its keep-alive connection, `rounds` after another.
struct Streams {
  std::uint16_t port = 0;
  std::string path = "/";
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  int connections = 1;
  std::uint64_t rounds = 1;
  std::uint64_t frames = 1;  // that each stream has
  std::chrono::seconds within{120};
};

struct StreamsResult {
  std::uint64_t frames = 0;   // heard
  std::uint64_t lost = 0;     // never heard, or not in their order
  std::uint64_t merged = 0;   // that shared an event with another
  std::uint64_t waited = 0;   // that came in one read with an earlier one of their stream
  std::uint64_t cut_off = 0;  // streams that ended before their [DONE]
  double seconds = 0;
  Histogram first;  // from the request's first byte to the first frame
  Histogram delay;  // from the upstream's write to here, of each frame
};

// One thread, one epoll. Blocks until all are over. An error: no connection, a reply that is no stream, or
// not over `within` its time.
base::Result<StreamsResult> run(const Streams& streams);

}  // namespace millrace::bench
