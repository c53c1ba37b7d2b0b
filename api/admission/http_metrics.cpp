#include "api/admission/http_metrics.h"

namespace millrace::api {

HttpMetrics::Series::Series(base::Metrics& metrics, std::string_view m, std::string_view p)
    : method(m),
      pattern(p),
      duration(metrics.histogram("millrace_request_duration_seconds",
                                 "Duration of requests, from head to reply", base::latency_bounds(),
                                 {{"method", std::string(m)}, {"route", std::string(p)}})) {}

HttpMetrics::HttpMetrics(base::Metrics& metrics, std::span<const Route> routes)
    : metrics_(metrics), routes_(routes) {
  for (const Route& route : routes)
    series_.push_back(std::make_unique<Series>(metrics, name(route.method), route.pattern));
  series_.push_back(std::make_unique<Series>(metrics, "other", "none"));
}

void HttpMetrics::record(const Route* route, int status, double seconds) {
  const std::size_t index =
      route == nullptr ? routes_.size() : static_cast<std::size_t>(route - routes_.data());
  Series& series = *series_[index];
  counter(series, status).add();
  series.duration.observe(seconds);
}

base::Counter HttpMetrics::counter(Series& series, int status) {
  const std::lock_guard lock(series.mutex);
  for (const auto& [known, counter] : series.by_status) {
    if (known == status) return counter;
  }
  const base::Counter made = metrics_.counter("millrace_http_requests_total", "Requests answered",
                                              {{"method", std::string(series.method)},
                                               {"route", std::string(series.pattern)},
                                               {"status", std::to_string(status)}});
  series.by_status.emplace_back(status, made);
  return made;
}

}  // namespace millrace::api
