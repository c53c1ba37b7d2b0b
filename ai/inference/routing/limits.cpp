#include "ai/inference/routing/limits.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;
using Pacing = RateLimiter::Pacing;
constexpr milliseconds kBusyAgain{1'000};  // assumed time until a running call ends
constexpr milliseconds kNow{0};

std::string counted(std::int64_t count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace

// REQUIRES: mutex_.
TargetLimiter::Blocked TargetLimiter::blocked_by(const ModelLimits& limits, double tokens, Pacing pacing,
                                                 Time now) {
  if (pacing == Pacing::kSpread && paused_until_ > now)
    return {std::chrono::ceil<milliseconds>(paused_until_ - now), Bound::kPaused};
  if (limits.concurrent > 0 && running_ >= limits.concurrent) return {kBusyAgain, Bound::kConcurrent};
  const milliseconds requests = requests_.wait(limits.requests_per_minute, 1, pacing, now);
  const milliseconds all = tokens_.wait(limits.tokens_per_minute, tokens, pacing, now);
  return requests >= all ? Blocked{requests, Bound::kRequests} : Blocked{all, Bound::kTokens};
}

// REQUIRES: mutex_.
TargetLimiter::Blocked TargetLimiter::blocked_by_share(const ModelLimits& limits, const Call& call,
                                                       Time now) {
  if (!shares_.is_shared(call.tenant, now)) return {};
  const ModelLimits share = TenantShares::share(limits);
  const TenantShares::Wait wait = shares_.wait(share, call.tenant, static_cast<double>(call.tokens), now);
  if (wait.concurrent) return {kBusyAgain, Bound::kConcurrent, true};
  if (wait.requests >= wait.tokens) return {wait.requests, Bound::kRequests, true};
  return {wait.tokens, Bound::kTokens, true};
}

TargetLimiter::Blocked TargetLimiter::try_take(const ModelLimits& limits, const Call& call, Pacing pacing) {
  const Time now = std::chrono::steady_clock::now();
  const auto size = static_cast<double>(call.tokens);
  const std::lock_guard lock(mutex_);
  const Blocked by_share = blocked_by_share(limits, call, now);
  if (const Blocked by = blocked_by(limits, size, pacing, now); by.wait > kNow) return by;
  if (by_share.wait > kNow) return by_share;
  ++running_;
  shares_.entered(call.tenant);
  shares_.take(limits, call.tenant, 1, size, now);
  requests_.take(limits.requests_per_minute, 1, pacing, now);
  tokens_.take(limits.tokens_per_minute, size, pacing, now);
  usual_tokens_ = usual_tokens_ == 0 ? size : (usual_tokens_ * 7 + size) / 8;
  return {};
}

std::string TargetLimiter::text(const Blocked& blocked, const ModelLimits& limits) {
  const ModelLimits most = blocked.of_tenant ? TenantShares::share(limits) : limits;
  const std::string whose = blocked.of_tenant ? " for one of several tenants" : "";
  switch (blocked.by) {
    case Bound::kPaused:
      break;
    case Bound::kConcurrent:
      return counted(most.concurrent, "call") + " at a time" + whose;
    case Bound::kRequests:
      return counted(most.requests_per_minute, "request") + " per minute" + whose;
    case Bound::kTokens:
      return counted(most.tokens_per_minute, "token") + " per minute" + whose;
  }
  return {};
}

base::Status TargetLimiter::enter(const ModelLimits& limits, const Call& call, std::string_view model) {
  const Blocked by = try_take(limits, call, Pacing::kAtOnce);
  if (by.wait == kNow) return {};
  std::string message = "model '";
  message.append(model).append("' is at its limit of ").append(text(by, limits));
  base::Error error = base::error(base::Code::kRateLimited, std::move(message));
  error.retry_after = by.wait;
  return error;
}

net::Task<base::Status> TargetLimiter::wait(ModelLimits limits, Call call, int priority,
                                            net::Cancel& cancel) {
  if (waiting_.empty() && try_take(limits, call, Pacing::kSpread).wait == kNow) co_return base::Status();
  const auto queue = waiting_.find(call.tenant);
  const std::size_t of_tenant = queue == waiting_.end() ? 0 : queue->second.size();
  if (waiting_count_ >= kWaitingMax || of_tenant >= kWaitingPerTenantMax)
    co_return base::error(base::Code::kOverloaded,
                          "too many requests are waiting for this model; retry later");
  const QueueKey key{-priority, ++last_};
  net::StartCall<bool> begin = [&](std::function<void(bool)> done) -> std::function<void()> {
    waiting_[call.tenant].emplace(key, Waiter{limits, call, std::move(done)});
    count_waiting(call.tenant, 1);
    loop_.post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock()) admit_waiting();
    });
    return [this, tenant = call.tenant, key] { remove_waiter(tenant, key); };
  };
  net::Task<std::optional<bool>> entered = net::cancellable<bool>(loop_, std::move(begin), cancel);
  const std::optional<bool> in = co_await entered;
  if (!in) co_return net::cancelled();
  co_return base::Status();
}

void TargetLimiter::count_waiting(const std::string& tenant, int count) {
  waiting_count_ += count;
  const std::lock_guard lock(mutex_);
  shares_.add_waiting(tenant, count);
}

void TargetLimiter::remove_waiter(const std::string& tenant, const QueueKey& key) {
  const auto queue = waiting_.find(tenant);
  if (queue == waiting_.end() || queue->second.erase(key) == 0) return;
  if (queue->second.empty()) waiting_.erase(queue);
  count_waiting(tenant, -1);
}

// The number of tenants is small: waiting calls belong to jobs, which have slots.
std::vector<std::map<std::string, TargetLimiter::Queue>::iterator> TargetLimiter::queues_in_order() {
  std::vector<std::map<std::string, Queue>::iterator> queues;
  std::map<std::string, int> running;
  const std::lock_guard lock(mutex_);
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    queues.push_back(each);
    running[each->first] = shares_.running(each->first);
  }
  const auto place = [&](const auto& each) {
    return std::tuple(running[each->first], each->first <= last_admitted_, each->first);
  };
  std::ranges::sort(queues, {}, place);
  return queues;
}

// Returns the time until the next waiter may enter; 0: one was admitted. A waiter that only its tenant's
// share blocks makes no other tenant wait.
milliseconds TargetLimiter::admit_one() {
  milliseconds wait = milliseconds::max();
  for (const auto& queue : queues_in_order()) {
    const auto first = queue->second.begin();
    const Blocked by = try_take(first->second.limits, first->second.call, Pacing::kSpread);
    if (by.wait == kNow) {
      const auto enter = std::move(first->second.enter);
      last_admitted_ = queue->first;
      remove_waiter(last_admitted_, QueueKey(first->first));
      enter(true);
      return kNow;
    }
    wait = std::min(wait, by.wait);
    if (!by.of_tenant) break;
  }
  return wait;
}

// An admitted waiter runs at once and may call `leave` before it returns. The loop here handles that.
void TargetLimiter::admit_waiting() {
  if (std::exchange(admitting_, true)) return;
  milliseconds wait = kNow;
  while (!waiting_.empty() && wait == kNow) wait = admit_one();
  admitting_ = false;
  timer_.cancel();
  if (waiting_.empty()) return;
  timer_ = loop_.after(wait, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) admit_waiting();
  });
}

void TargetLimiter::charge(const ModelLimits& limits, int requests, const Call& call, Pacing pacing) {
  const Time now = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto tokens = static_cast<double>(call.tokens);
    shares_.take(limits, call.tenant, requests, tokens, now);
    requests_.take(limits.requests_per_minute, requests, pacing, now);
    tokens_.take(limits.tokens_per_minute, tokens, pacing, now);
  }
  if (call.tokens < 0) notify_capacity_();
}

void TargetLimiter::leave(const std::string& tenant) {
  --running_;
  {
    const std::lock_guard lock(mutex_);
    shares_.left(tenant);
  }
  if (!waiting_.empty()) admit_waiting();
  notify_capacity_();
}

void TargetLimiter::pause_for(milliseconds time) {
  const std::lock_guard lock(mutex_);
  paused_until_ = std::max(paused_until_, std::chrono::steady_clock::now() + time);
}

TargetLimiter::Capacity TargetLimiter::capacity(const ModelLimits& limits, const std::string& tenant) {
  const Time now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (paused_until_ > now) return {.calls = 0, .wait = std::chrono::ceil<milliseconds>(paused_until_ - now)};
  Capacity capacity;
  const auto bounded = [&](double calls, milliseconds wait) {
    capacity.calls = static_cast<int>(std::clamp(calls, 0.0, static_cast<double>(capacity.calls)));
    if (calls < 1) capacity.wait = std::max(capacity.wait, wait);
  };
  if (limits.concurrent > 0) bounded(limits.concurrent - running_, kBusyAgain);
  if (const auto limit = limits.requests_per_minute; limit > 0)
    bounded(requests_.calls(limit, 1, now), requests_.wait(limit, 1, Pacing::kSpread, now));
  if (const auto limit = limits.tokens_per_minute; limit > 0) {
    const double size = usual_tokens_ == 0 ? RateBucket::burst(limit) : usual_tokens_;
    bounded(tokens_.calls(limit, size, now), tokens_.wait(limit, size, Pacing::kSpread, now));
  }
  if (shares_.is_shared(tenant, now)) {
    const ModelLimits share = TenantShares::share(limits);
    if (share.concurrent > 0) bounded(share.concurrent - shares_.running(tenant), kBusyAgain);
    const TenantShares::Wait wait = shares_.wait(share, tenant, usual_tokens_, now);
    if (const auto until = std::max(wait.requests, wait.tokens); until > kNow) bounded(0, until);
  }
  if (const int waiting = shares_.waiting(tenant); waiting > 0) bounded(capacity.calls - waiting, kBusyAgain);
  return capacity;
}

}  // namespace millrace::inference
