#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "api/routing/route.h"
#include "platform/base/metrics.h"

namespace millrace::api {

// millrace_http_requests_total{method, route, status} and millrace_request_duration_seconds{route}. Labels
// come only from the route table; requests without a route count as route "none". Thread-safe.
class HttpMetrics {
 public:
  HttpMetrics(base::Metrics& metrics, std::span<const Route> routes);
  // `route` may be null.
  void record(const Route* route, int status, double seconds);

 private:
  struct Series {
    std::string_view method, pattern;
    base::Histogram duration;
    std::mutex mutex;
    std::vector<std::pair<int, base::Counter>> by_status;
    Series(base::Metrics& metrics, std::string_view method, std::string_view pattern);
  };
  base::Counter counter(Series& series, int status);

  base::Metrics& metrics_;
  std::span<const Route> routes_;
  std::vector<std::unique_ptr<Series>> series_;  // one per route, then "none"
};

}  // namespace millrace::api
