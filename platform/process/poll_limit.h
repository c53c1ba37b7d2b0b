#pragma once
#include <chrono>

namespace millrace::process {

// How long poll(2) may wait for what is due by then, in ms: 0 if that has passed, an hour at most.
int poll_limit(std::chrono::steady_clock::time_point deadline);

}  // namespace millrace::process
