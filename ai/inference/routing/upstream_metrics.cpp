#include "ai/inference/routing/upstream_metrics.h"

#include <algorithm>

namespace millrace::inference {
namespace {

const std::string& label_of(const Registry& registry, const std::string& model) {
  static const std::string kOther = "other";
  const auto& models = registry.configured();
  const bool known =
      std::any_of(models.begin(), models.end(), [&](const auto& m) { return m->name == model; });
  return known ? model : kOther;
}

// Seconds, 50 ms … 20 min: completions take longer than requests to the gateway itself.
const std::vector<double>& upstream_bounds() {
  static const std::vector<double> kBounds{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200};
  return kBounds;
}

double gauge_of(BreakerState state) {
  switch (state) {
    case BreakerState::kClosed:
      return 0;
    case BreakerState::kHalfOpen:
      return 1;
    case BreakerState::kOpen:
      return 2;
  }
  return 0;
}

}  // namespace

base::Counter UpstreamMetrics::tokens(const std::string& model, const char* type) {
  return metrics_.counter("millrace_tokens_total", "Tokens of chat completions.",
                          {{"model", model}, {"type", type}});
}

UpstreamMetrics::Series& UpstreamMetrics::of(const Registry& registry, const std::string& model) {
  const std::string& label = label_of(registry, model);
  const auto found = series_.find(label);
  if (found != series_.end()) return found->second;
  const base::Labels labels{{"model", label}};
  Series series{metrics_.histogram("millrace_upstream_duration_seconds", "Successful calls to upstreams.",
                                   upstream_bounds(), labels),
                metrics_.histogram("millrace_time_to_first_token_seconds",
                                   "Time from the start of a streamed request to its first piece.",
                                   base::latency_bounds(), labels),
                tokens(label, "prompt"),
                tokens(label, "completion"),
                tokens(label, "cached"),
                tokens(label, "reasoning"),
                metrics_.counter("millrace_cost_usd_total", "US dollars, by the configured prices.", labels),
                metrics_.gauge("millrace_upstream_breaker_state",
                               "Circuit breaker: 0 closed, 1 half-open, 2 open.", labels),
                {}};
  return series_.emplace(label, std::move(series)).first->second;
}

void UpstreamMetrics::called(const Registry& registry, const std::string& model, double seconds) {
  of(registry, model).duration.observe(seconds);
}

void UpstreamMetrics::failed(const Registry& registry, const std::string& model, base::Code code) {
  Series& series = of(registry, model);
  auto found = series.errors.find(code);
  if (found == series.errors.end()) {
    const base::Labels labels{{"model", label_of(registry, model)}, {"code", std::string(base::name(code))}};
    found = series.errors
                .emplace(code, metrics_.counter("millrace_upstream_errors_total",
                                                "Failed calls to upstreams.", labels))
                .first;
  }
  found->second.add();
}

void UpstreamMetrics::first_token(const Registry& registry, const std::string& model, double seconds) {
  of(registry, model).first_token.observe(seconds);
}

void UpstreamMetrics::used(const Registry& registry, const std::string& model,
                           const schemas::ChatUsage& usage) {
  const Series& series = of(registry, model);
  series.prompt.add(static_cast<double>(std::max<std::int64_t>(usage.prompt, 0)));
  series.completion.add(static_cast<double>(std::max<std::int64_t>(usage.completion, 0)));
  series.cached.add(static_cast<double>(std::max<std::int64_t>(usage.cached.value_or(0), 0)));
  series.reasoning.add(static_cast<double>(std::max<std::int64_t>(usage.reasoning.value_or(0), 0)));
}

void UpstreamMetrics::paid(const Registry& registry, const std::string& model, double usd) {
  of(registry, model).cost.add(usd);
}

void UpstreamMetrics::breaker(const Registry& registry, const std::string& model, BreakerState state) {
  of(registry, model).breaker.set(gauge_of(state));
}

}  // namespace millrace::inference
