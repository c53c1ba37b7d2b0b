#include "bus/local.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace millrace::bus {
namespace {

// Takes one unit of capacity; false: there is none.
bool take_capacity(std::atomic<std::size_t>& capacity) {
  std::size_t available = capacity.load(std::memory_order_relaxed);
  while (available > 0) {
    if (capacity.compare_exchange_weak(available, available - 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

}  // namespace

LocalDispatch::Subscription& LocalDispatch::subscription(schemas::Kind kind) {
  const auto at = std::find(schemas::kKinds.begin(), schemas::kKinds.end(), kind);
  return subscriptions_.at(static_cast<std::size_t>(at - schemas::kKinds.begin()));
}

void LocalDispatch::publish(Token token, OnDelivered done) {
  base::Status outcome;
  {
    const std::shared_lock lock(running_mutex_);
    if (running_) {
      offer(std::move(token));
    } else {
      outcome = base::error(base::Code::kOverloaded, "the dispatch is not running");
    }
  }
  done(std::move(outcome));
}

void LocalDispatch::offer(Token token) {
  Subscription& to = subscription(token.job.kind);
  if (to.on_token && take_capacity(to.capacity)) return to.on_token(std::move(token), [] {});
  without_capacity_.fetch_add(1, std::memory_order_relaxed);
}

void LocalDispatch::subscribe(schemas::Kind kind, std::string /*worker*/, OnToken on_token) {
  const std::unique_lock lock(running_mutex_);
  subscription(kind).on_token = std::move(on_token);
}

void LocalDispatch::set_capacity(schemas::Kind kind, std::size_t tokens) {
  subscription(kind).capacity.store(tokens, std::memory_order_release);
}

base::Status LocalDispatch::start() {
  const std::unique_lock lock(running_mutex_);
  running_ = true;
  return {};
}

void LocalDispatch::stop(std::chrono::milliseconds /*deadline*/) {
  const std::unique_lock lock(running_mutex_);
  running_ = false;
}

HealthReport LocalDispatch::health() const {
  const auto count = without_capacity_.load(std::memory_order_relaxed);
  return {Health::kUp, "in-process; " + std::to_string(count) +
                           " tokens found no free slot; workers take their jobs from the store"};
}

void LocalEvents::publish(schemas::JobChange hint) {
  const std::shared_lock lock(running_mutex_);
  if (!running_) return;
  for (const OnHint& subscriber : subscribers_) subscriber(hint);
}

void LocalEvents::subscribe(OnHint on_hint) { subscribers_.push_back(std::move(on_hint)); }

base::Status LocalEvents::start() {
  const std::unique_lock lock(running_mutex_);
  running_ = true;
  return {};
}

void LocalEvents::stop(std::chrono::milliseconds /*deadline*/) {
  const std::unique_lock lock(running_mutex_);
  running_ = false;
}

HealthReport LocalEvents::health() const { return {Health::kUp, "in-process"}; }

}  // namespace millrace::bus
