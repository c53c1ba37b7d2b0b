#pragma once
#include <string>

#include "tests/bench/measure/histogram.h"

namespace millrace::bench {

// The latency fields of a benchmark's JSON line: "p50_us":…,"p90_us":…,"p99_us":…,"p999_us":…,"max_us":…
std::string latency_json(const Histogram& latency);

}  // namespace millrace::bench
