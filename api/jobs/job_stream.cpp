#include "api/jobs/job_stream.h"

#include <utility>

#include "platform/base/log.h"

namespace millrace::api {

void JobStream::watch(std::int64_t after_version, std::chrono::milliseconds period) {
  context_.waits.add(shared_from_this());
  const std::weak_ptr<JobStream> weak = weak_from_this();
  call_->on_gone([weak] {
    if (const auto held = weak.lock()) held->over();
  });
  auto subscription =
      context_.waits.waiters().watch(job_, after_version, [weak](std::int64_t, schemas::JobStatus) {
        if (const auto held = weak.lock()) held->wake();
      });
  {
    const std::lock_guard lock(mutex_);
    if (!over_) subscription_ = std::move(subscription);
  }
  schedule_beat(period);
  wake();
}

void JobStream::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    again_ = true;
    if (running_) return;
    running_ = true;
  }
  const bool posted =
      context_.pool.post(base::Pool::Queue::kQuick, [self = shared_from_this()] { self->pump(); });
  if (posted) return;
  const std::lock_guard lock(mutex_);
  running_ = false;  // the next heartbeat tries again
}

void JobStream::pump() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      running_ = again_ && !over_;
      again_ = false;
      if (!running_) return;
    }
    const PollResult seen = poll_guarded();
    if (seen == PollResult::kOver) return over();
    const std::lock_guard lock(mutex_);
    if (seen == PollResult::kMore) again_ = true;
    if (seen != PollResult::kBacklog) continue;
    running_ = false;
    call_->responder().on_drained(kBacklogResume, [weak = weak_from_this()] {
      if (const auto held = weak.lock()) held->wake();
    });
    return;
  }
}

// If the error event cannot be sent either, for example without memory, the stream is cut.
void JobStream::log_poll_failed() {
  try {
    on_poll_exception();
  } catch (const std::exception&) {
    call_->responder().abort();
  }
}

// An exception ends the stream, because a stream that no longer looks would never end.
JobStream::PollResult JobStream::poll_guarded() {
  try {
    return poll();
  } catch (const std::exception& problem) {
    base::log_error("job_stream_failed", {{"job_id", job_.str()}, {"what", problem.what()}});
    log_poll_failed();
    return PollResult::kOver;
  }
}

void JobStream::schedule_beat(std::chrono::milliseconds period) {
  auto timer = context_.loop.after(period, [weak = weak_from_this(), period] {
    const auto held = weak.lock();
    if (!held) return;
    if (!held->send_heartbeat()) return held->over();
    held->wake();
    held->schedule_beat(period);
  });
  const std::lock_guard lock(mutex_);
  if (!over_) beat_ = std::move(timer);
}

void JobStream::over() {
  jobs::Waiters::Subscription subscription;
  net::Loop::Timer beat;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    subscription = std::move(subscription_);
    beat = std::move(beat_);
  }
  beat.cancel();
  end_response();
  context_.waits.remove(shared_from_this());
}

}  // namespace millrace::api
