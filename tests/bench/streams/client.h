#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "tests/bench/measure/histogram.h"

namespace millrace::bench {

// Streams to request: `connections` at the same time, each on its own keep-alive connection, `rounds` one
// after another.
struct Streams {
  std::uint16_t port = 0;
  std::string path = "/";
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  int connections = 1;
  std::uint64_t rounds = 1;
  std::uint64_t frames = 1;  // per stream
  std::chrono::seconds within{120};
};

struct StreamsResult {
  std::uint64_t frames = 0;   // received
  std::uint64_t lost = 0;     // never received, or out of order
  std::uint64_t merged = 0;   // in one event with another frame
  std::uint64_t waited = 0;   // received in one read with an earlier frame of the same stream
  std::uint64_t cut_off = 0;  // streams that ended before [DONE]
  double seconds = 0;
  Histogram first;  // from the first byte of the request to the first frame
  Histogram delay;  // per frame: from the upstream's write to its arrival here
};

// Uses one thread and one epoll. Blocks until all streams have ended. Error: no connection, a reply that is
// not a stream, or the streams have not ended after `within`.
base::Result<StreamsResult> run(const Streams& streams);

}  // namespace millrace::bench
