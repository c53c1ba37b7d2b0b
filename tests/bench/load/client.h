#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "tests/bench/measure/histogram.h"

namespace millrace::bench {

// What to send, and how.
struct Load {
  std::uint16_t port = 0;
  std::string method = "POST";
  std::string path = "/";
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  int connections = 1;  // keep-alive, all open before the first request
  double rate = 0;  // > 0: open loop, requests per second; 0: closed loop, each connection asks at once again
  std::chrono::duration<double> warmup{0};  // not counted
  std::chrono::duration<double> measured{1};
  std::uint64_t requests_max = 0;  // > 0: ends after so many replies, without a warm-up
  int expected_status = 202;
  bool fresh_keys = false;  // a new random Idempotency-Key on every request
};

struct LoadResult {
  std::uint64_t replies = 0;  // in the measured time
  double seconds = 0;
  // Closed loop: from the first byte sent to the last byte of the reply. Open loop: from when the request was
  // due, so that a stall counts for all that waited behind it.
  Histogram latency;
  std::map<int, std::uint64_t> wrong;  // replies with another status than the expected, warm-up included
  std::string first_wrong_body;
};

// One thread, one epoll. Blocks until it is over. An error: a connection cannot be made, or was closed by the
// server.
base::Result<LoadResult> run(const Load& load);

}  // namespace millrace::bench
