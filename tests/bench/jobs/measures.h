#pragma once
#include <chrono>
#include <cstdint>

#include "platform/base/result.h"
#include "tests/bench/jobs/job_core.h"
#include "tests/bench/measure/histogram.h"

namespace millrace::bench {

struct Pace {
  double rate = 200;  // jobs per second
  std::chrono::duration<double> warmup{1}, measured{10};
};
struct StartLatency {
  std::uint64_t jobs = 0;
  Histogram latency;  // from before the submit to the runner's start
};
// Submits at that pace to a running worker. An error: a job was not stored, or did not start.
base::Result<StartLatency> measure_start(JobCore::Options options, Pace pace);

struct Drained {
  double seconds = 0;
};
// Stores the jobs, then starts a worker: the time until all have their durable result.
base::Result<Drained> measure_drain(JobCore::Options options, std::uint64_t jobs);

}  // namespace millrace::bench
