#include "tests/bench/measure/report.h"

#include <array>
#include <cstdio>

namespace millrace::bench {

std::string latency_json(const Histogram& latency) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                R"("p50_us":%.1f,"p90_us":%.1f,"p99_us":%.1f,"p999_us":%.1f,"max_us":%.1f)",
                latency.quantile_us(0.5), latency.quantile_us(0.9), latency.quantile_us(0.99),
                latency.quantile_us(0.999), latency.max_us());
  return text.data();
}

}  // namespace millrace::bench
