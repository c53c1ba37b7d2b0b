#include "ai/inference/routing/targets.h"

#include <algorithm>
#include <utility>

namespace millrace::inference {

Work TargetState::worst(Breaker::Time now) const {
  const auto rank = [now](const Breaker& each) { return std::pair(each.state(now), each.failures()); };
  const auto worst = std::max_element(breakers_.begin(), breakers_.end(),
                                      [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return static_cast<Work>(worst - breakers_.begin());
}

TargetStatePtr Targets::of(const ModelRow& row) {
  const providers::Target& target = row.target;
  std::string key = target.name;
  key.append("\n").append(target.preset->name).append("\n").append(target.base_url);
  key.append("\n").append(target.model);
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second.state;
  if (known_.size() >= kTargetsMax) forget_idle();
  auto state = std::make_shared<TargetState>(loop_, notify_capacity_);
  known_.emplace(std::move(key), Known{target.name, std::string(target.preset->name), target.model, state});
  return state;
}

// A state without runs may still be in use on the loop, in the call that ended its last run. So it is
// destroyed in a later iteration of the loop.
void Targets::forget_idle() {
  std::vector<TargetStatePtr> idle;
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(known_, [&](const auto& entry) {
    const TargetStatePtr& state = entry.second.state;
    const bool is_idle = state.use_count() == 1 && state->breaker_state(now) != BreakerState::kOpen;
    if (is_idle) idle.push_back(state);
    return is_idle;
  });
  if (!idle.empty()) loop_.post([idle = std::move(idle)] {});
}

std::vector<TargetHealth> Targets::health(const Registry& registry) {
  for (const ModelPtr& model : registry.configured()) {
    for (const ModelRow& row : model->rows) of(row);
  }
  std::vector<TargetHealth> all;
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (const auto& [key, known] : known_) {
    const TargetState& state = *known.state;
    TargetHealth& health = all.emplace_back();
    health.model = known.model;
    health.provider = known.provider;
    health.upstream_model = known.upstream_model;
    health.work = state.worst(now);
    const Breaker& worst = state.breaker(health.work);
    health.breaker = worst.state(now);
    health.failures_in_a_row = worst.failures();
    if (health.breaker == BreakerState::kOpen) health.time_to_probe = worst.time_to_probe(now);
    health.running = state.limiter.running();
    health.waiting = state.limiter.waiting();
    health.latency = std::chrono::milliseconds(state.latency_ms);
  }
  return all;
}

}  // namespace millrace::inference
