#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "tests/bench/measure/histogram.h"

namespace millrace::bench {

// The requests to send and the pace.
struct Load {
  std::uint16_t port = 0;
  std::string method = "POST";
  std::string path = "/";
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  int connections = 1;  // keep-alive, all open before the first request
  double rate = 0;      // > 0: open loop, requests per second; 0: closed loop, a connection sends its next
                        // request immediately
  std::chrono::duration<double> warmup{0};  // not counted
  std::chrono::duration<double> measured{1};
  std::uint64_t requests_max = 0;  // > 0: stops after this number of replies, without a warm-up
  int expected_status = 202;
  bool fresh_keys = false;  // a new random Idempotency-Key on every request
};

struct LoadResult {
  std::uint64_t replies = 0;  // received in the measured time
  double seconds = 0;
  // Closed loop: from the first byte sent to the last byte of the reply. Open loop: from the time at which
  // the request was due. So a stall counts for every request that waited behind it.
  Histogram latency;
  std::map<int, std::uint64_t> wrong;  // replies with an unexpected status, by status, warm-up included
  std::string first_wrong_body;
};

// Uses one thread and one epoll. Blocks until the run has ended. Error: a connection cannot be opened, or the
// server closed one.
base::Result<LoadResult> run(const Load& load);

}  // namespace millrace::bench
