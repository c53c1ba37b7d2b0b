#include "api/jobs/job_wait.h"

#include <vector>

namespace millrace::api {

JobWait::Done JobWait::take_done() {
  jobs::Waiters::Subscription subscription;
  net::Loop::Timer timer;
  Done done;
  const std::lock_guard lock(mutex_);
  done.swap(done_);
  subscription = std::move(subscription_);
  timer = std::move(timer_);
  return done;
}

void JobWait::cancel() {
  take_done();
  waits_.remove(shared_from_this());
}

void JobWait::finish(End end) {
  Done done = take_done();
  if (!done) return;
  waits_.remove(shared_from_this());
  waits_.loop().post([done = std::move(done), end] { done(end); });
}

std::shared_ptr<JobWait> JobWaits::wait(const schemas::JobId& job, std::int64_t seen_version,
                                        std::chrono::milliseconds limit, JobWait::Done done) {
  auto wait = std::make_shared<JobWait>(*this, std::move(done));
  add(wait);
  const std::weak_ptr<JobWait> weak = wait;
  auto subscription = waiters_.watch(job, seen_version, [weak](std::int64_t, schemas::JobStatus status) {
    const auto locked_wait = weak.lock();
    if (locked_wait && schemas::is_terminal(status)) locked_wait->finish(JobWait::End::kTerminal);
  });
  auto timer = loop_.after(limit, [weak] {
    if (const auto locked_wait = weak.lock()) locked_wait->finish(JobWait::End::kTimeout);
  });
  const std::lock_guard lock(wait->mutex_);
  if (wait->done_) {
    wait->subscription_ = std::move(subscription);
    wait->timer_ = std::move(timer);
  }
  return wait;
}

void JobWaits::add(std::shared_ptr<Drainable> waiting) {
  {
    const std::lock_guard lock(mutex_);
    if (!draining_) {
      waiting_.insert(std::move(waiting));
      return;
    }
  }
  waiting->drain();
}

void JobWaits::remove(const std::shared_ptr<Drainable>& waiting) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(waiting);
}

void JobWaits::drain() {
  std::unordered_set<std::shared_ptr<Drainable>> all;
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    all.swap(waiting_);
  }
  for (const auto& each : all) each->drain();
}

}  // namespace millrace::api
