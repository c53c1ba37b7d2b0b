#include "ai/inference/routing/lanes.h"

#include <algorithm>
#include <utility>

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Shortest wait of the timer. Capacity that per-minute limits free within it is announced together.
constexpr milliseconds kTogether{10};

}  // namespace

Lanes::CallPermit::CallPermit(std::shared_ptr<Lanes> lanes, std::string model)
    : lanes_(std::move(lanes)), model_(std::move(model)) {}

void Lanes::CallPermit::leave() {
  if (const auto lanes = std::exchange(lanes_, nullptr)) lanes->left(model_);
}

Lanes::Lanes(net::Loop& loop, Targets& targets, std::function<RegistryPtr()> registry)
    : loop_(loop), targets_(targets), registry_(std::move(registry)) {}

bool Lanes::some_are_full() {
  const std::lock_guard lock(mutex_);
  return refused_since_callback_;
}

void Lanes::on_capacity(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  on_capacity_ = std::move(callback);
}

std::shared_ptr<Lanes::CallPermit> Lanes::take(const std::string& model, const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  if (closed_) return nullptr;
  const TargetLimiter::Capacity capacity = capacity_of(model, tenant);
  const auto known = permits_.find(model);
  if (capacity.calls > (known == permits_.end() ? 0 : known->second)) {
    ++permits_[model];
    return std::make_shared<CallPermit>(shared_from_this(), model);
  }
  refused_since_callback_ = true;
  if (capacity.calls == 0) retry_in(std::max(capacity.wait, kTogether));
  return nullptr;
}

// A removed model has no limits here. Its requests start and then fail with kModelNotFound.
TargetLimiter::Capacity Lanes::capacity_of(const std::string& model, const std::string& tenant) {
  const base::Result<ModelPtr> found = registry_()->find(model);
  if (!found) return {};
  TargetLimiter::Capacity all{.calls = 0, .wait = milliseconds::max()};
  for (const ModelRow& row : (*found)->rows) {
    const TargetLimiter::Capacity capacity = targets_.of(row)->limiter.capacity(row.limits, tenant);
    all.calls = std::min(all.calls + capacity.calls, TargetLimiter::Capacity::kNoLimit);
    all.wait = std::min(all.wait, capacity.wait);
  }
  return all;
}

void Lanes::retry_in(milliseconds wait) {
  const auto due = steady_clock::now() + wait;
  if (due_ != TargetLimiter::Time{} && due_ <= due) return;
  due_ = due;
  timer_.cancel();
  timer_ = loop_.after(wait, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_timer();
  });
}

void Lanes::on_timer() {
  {
    const std::lock_guard lock(mutex_);
    due_ = {};
  }
  notify_capacity();
}

void Lanes::notify_capacity() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(refused_since_callback_, false)) return;
    callback = on_capacity_;
  }
  if (callback) callback();
}

void Lanes::left(const std::string& model) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = permits_.find(model);
    if (--known->second == 0) permits_.erase(known);
  }
  notify_capacity();
}

void Lanes::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  on_capacity_ = nullptr;
  timer_.cancel();
  timer_ = {};
}

}  // namespace millrace::inference
