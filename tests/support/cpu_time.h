#pragma once
#include <ctime>

namespace millrace::support {

// How many times longer a sanitizer makes the work last, so that bounds of processor time hold with it too.
#if defined(__SANITIZE_THREAD__)
inline constexpr double kSanitizerSlowdown = 15;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr double kSanitizerSlowdown = 5;
#else
inline constexpr double kSanitizerSlowdown = 1;
#endif

// The processor time of this process while `act` runs, in seconds of a build without sanitizers. It does not
// depend on other processes.
template <class Act>
double cpu_seconds(Act&& act) {
  const std::clock_t began = std::clock();
  act();
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC / kSanitizerSlowdown;
}

}  // namespace millrace::support
