#include "api/admission/job_limiter.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace millrace::api {

struct KeyedSemaphore::State {
  std::mutex mutex;
  std::unordered_map<std::string, int> taken;  // no entry: 0

  bool take(const std::string& name, int most) {
    const std::lock_guard lock(mutex);
    int& count = taken[name];
    if (count < most) {
      ++count;
      return true;
    }
    if (count == 0) taken.erase(name);
    return false;
  }

  void give_back(const std::string& name) {
    const std::lock_guard lock(mutex);
    const auto count = taken.find(name);
    if (--count->second == 0) taken.erase(count);
  }
};

KeyedSemaphore::KeyedSemaphore(int most) : most_(most), state_(std::make_shared<State>()) {}

KeyedSemaphore::Permit KeyedSemaphore::take(const std::string& name) {
  if (!state_->take(name, most_)) return nullptr;
  return {state_.get(), [state = state_, name](const void*) { state->give_back(name); }};
}

struct JobLimiter::State {
  struct Kept {
    Permit permit;
    jobs::Waiters::Subscription subscription;
  };

  std::mutex mutex;
  std::unordered_map<schemas::JobId, Kept, schemas::JobIdHash> kept;

  void release(const schemas::JobId& job) {
    Kept over;  // destroyed after the lock is released; releases its permit
    const std::lock_guard lock(mutex);
    const auto found = kept.find(job);
    if (found == kept.end()) return;
    over = std::move(found->second);
    kept.erase(found);
  }

  void attach(const schemas::JobId& job, jobs::Waiters::Subscription subscription) {
    const std::lock_guard lock(mutex);
    const auto found = kept.find(job);
    if (found != kept.end()) std::swap(found->second.subscription, subscription);
  }
};

JobLimiter::JobLimiter(int per_key, jobs::Waiters& waiters)
    : taken_(per_key), waiters_(waiters), state_(std::make_shared<State>()) {}

JobLimiter::~JobLimiter() {
  decltype(State::kept) all;
  const std::lock_guard lock(state_->mutex);
  all.swap(state_->kept);
}

JobLimiter::Permit JobLimiter::take(const std::string& key_id) { return taken_.take(key_id); }

void JobLimiter::keep(Permit permit, const schemas::JobId& job) {
  if (!permit) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->kept[job].permit = std::move(permit);
  }
  const std::weak_ptr<State> weak = state_;
  auto subscription = waiters_.watch(job, 0, [weak, job](std::int64_t, schemas::JobStatus status) {
    const auto state = weak.lock();
    if (state && schemas::is_terminal(status)) state->release(job);
  });
  state_->attach(job, std::move(subscription));
}

base::Error JobLimiter::refusal() const {
  return base::error(base::Code::kRateLimited, "This API key has " + std::to_string(taken_.most()) +
                                                   " unfinished jobs, the limit of "
                                                   "limits.concurrent_jobs; retry when one has finished");
}

}  // namespace millrace::api
