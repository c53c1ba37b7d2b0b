#include "workers/jobs/callback_run.h"

#include <exception>

#include "jobs/policy.h"

namespace millrace::workers {

namespace {

bool is_of_input(base::Code code) {
  constexpr int kTooLargeStatus = 413, kUnprocessableStatus = 422;
  const int status = base::info(code).http_status;
  return status == kTooLargeStatus || status == kUnprocessableStatus;
}

}  // namespace

CallbackRun::CallbackRun(std::string_view step, storage::Claimed job, AttemptContext& context,
                         Runner::Ended ended)
    : step_(step), job_(std::move(job)), context_(context), ended_(std::move(ended)), link_(context.link()) {}

void CallbackRun::post(std::function<void()> step) {
  link_.post([self = shared_from_this(), step = std::move(step)] { self->take(step); });
}

void CallbackRun::take(const std::function<void()>& step) {
  try {
    step();
  } catch (const std::exception& what) {
    if (!over_) fail(exception_error(step_, what));
  }
}

void CallbackRun::retry_later(std::function<void()> step) {
  timer_ = context_.loop().after(kStepRetryDelay, [self = shared_from_this(), step = std::move(step)] {
    self->take([&] {
      if (self->is_running()) step();
    });
  });
}

bool CallbackRun::is_running() {
  if (over_) return false;
  if (!stop_) return true;
  end(Cancelled{});
  return false;
}

void CallbackRun::stop(Stop why) {
  if (over_) return;
  stop_ = why;
  if (!cancel_) return;
  cancel_();
  if (cancel_is_silent_) end(Cancelled{});
}

void CallbackRun::end(Outcome outcome) {
  if (std::exchange(over_, true)) return;
  before_end();
  cancel_ = nullptr;
  ended_(std::move(outcome));
}

void CallbackRun::fail(base::Error error) {
  if (error.param.empty() && is_of_input(error.code)) error.param = input_field();
  const bool permanent = jobs::job_retry_class(error) == base::RetryClass::kPermanent;
  if (permanent) return end(Fail{std::move(error), {}});
  end(Retry{std::move(error)});
}

void CallbackRun::end_with(base::Result<Outcome> outcome, std::function<void()> again) {
  if (outcome) return end(std::move(*outcome));
  if (jobs::is_local_limit(outcome.error())) return retry_later(std::move(again));
  fail(outcome.error());
}

void CallbackRun::set_cancel(Cancel cancel, bool silent) {
  cancel_ = std::move(cancel);
  cancel_is_silent_ = silent;
}

}  // namespace millrace::workers
