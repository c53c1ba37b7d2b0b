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
  Histogram latency;  // from just before the submit to the start of the runner
};
// Submits jobs at that pace to a running worker. Error: a job was not stored, or did not start.
base::Result<StartLatency> measure_start(JobCore::Options options, Pace pace);

struct Drained {
  double seconds = 0, first_fifth = 0, last_fifth = 0;  // of all jobs; of a fifth of them
  double store_seconds = 0;                             // before that: to store the jobs
};
// Stores the jobs, then starts a worker. Measures the time until all results are durable.
base::Result<Drained> measure_drain(JobCore::Options options, std::uint64_t jobs);

}  // namespace millrace::bench
