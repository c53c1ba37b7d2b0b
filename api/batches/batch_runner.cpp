#include "api/batches/batch_runner.h"

#include <algorithm>
#include <utility>

#include "platform/base/log.h"

namespace millrace::api {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kClaimEvery{1'000};
constexpr milliseconds kStepEvery{100}, kStepEveryMax{5'000};  // while jobs run
constexpr milliseconds kAfterFault{1'000};
base::Counter line_counter(base::Metrics& metrics, const char* outcome) {
  return metrics.counter("millrace_batch_lines_total", "Requests of batches that have ended",
                         {{"outcome", outcome}});
}

constexpr int kDrivenMax =
    20'000;  // batches of one process; others wait for another process, or for their end

}  // namespace

BatchRunner::BatchRunner(Context& context, Guard& guard, Auth& auth)
    : context_(context),
      guard_(guard),
      auth_(auth),
      batches_(context.store, base::Uuid::make(context.clock.wall())),
      succeeded_(line_counter(context.metrics, "succeeded")),
      failed_(line_counter(context.metrics, "failed")),
      driven_(context.metrics.gauge("millrace_batches_driven", "Open batches that this process runs")) {}

BatchRunner::~BatchRunner() { stop(); }

void BatchRunner::start() {
  thread_ = std::thread([this] { run(); });
}

void BatchRunner::wake(const base::Uuid& batch) {
  const std::lock_guard lock(answers_->mutex);
  answers_->woken.push_back(batch);
  answers_->changed.notify_all();
}

void BatchRunner::refuse_new() {
  const std::lock_guard lock(answers_->mutex);
  answers_->is_draining = true;
}

void BatchRunner::stop() {
  {
    const std::lock_guard lock(answers_->mutex);
    answers_->is_stopped = true;
    answers_->changed.notify_all();
  }
  if (!thread_.joinable()) return;
  thread_.join();
  if (runs_.empty()) return;
  if (const base::Status released = batches_.release(); !released)
    base::log_warn("batches_release_failed", {{"error", released.error().message}});
}

void BatchRunner::run() {
  do {
    claim();
    step_all();
  } while (wait());
  for (auto& [id, each] : runs_) {  // what was answered meanwhile is kept
    if (const auto taken = take_answers(each); !taken) note_fault(each, taken.error());
  }
}

bool BatchRunner::wait() {
  auto next = Clock::now() + kClaimEvery;
  for (const auto& [id, each] : runs_) next = std::min(next, std::max(each.due, each.faulted_until));
  std::unique_lock lock(answers_->mutex);
  answers_->changed.wait_until(
      lock, next, [this] { return answers_->is_stopped || !answers_->woken.empty() || answers_->has_new; });
  if (answers_->is_stopped) return false;
  for (const base::Uuid& id : std::exchange(answers_->woken, {})) {
    claim_at_ = {};
    if (const auto run = runs_.find(id); run != runs_.end()) run->second.due = {};
  }
  if (std::exchange(answers_->has_new, false)) forget_others();
  return true;
}

// Answers to lines of batches that this process no longer drives are not needed. REQUIRES: the mutex is held.
void BatchRunner::forget_others() {
  std::erase_if(answers_->lines, [this](const AnsweredLine& each) {
    if (runs_.contains(each.batch)) return false;
    bytes_in_flight_ -= each.line.bytes;
    return true;
  });
  for (const AnsweredLine& each : answers_->lines) runs_.find(each.batch)->second.due = {};
}

// A batch in which nothing happens is looked at less and less often.
void BatchRunner::step_all() {
  for (auto& [id, each] : runs_) {
    {
      const std::lock_guard lock(answers_->mutex);
      if (answers_->is_stopped) return;
    }
    const auto now = Clock::now();
    if (now < std::max(each.due, each.faulted_until)) continue;
    renew_when_due();
    base::Result<bool> more = false;
    try {
      more = step(each);
    } catch (const std::exception& broken) {
      more = base::error(base::Code::kInternal, broken.what());
    }
    if (!more) {
      note_fault(each, more.error());
      continue;
    }
    each.wait = *more ? milliseconds(0) : std::clamp(each.wait * 2, kStepEvery, kStepEveryMax);
    each.due = now + each.wait;
    if (!each.to_resend.empty())
      each.due = std::min(each.due, std::max(each.to_resend.begin()->first, now + kStepEvery));
  }
}

void BatchRunner::note_fault(Run& run, const base::Error& error) {
  run.validation = nullptr;  // it begins again
  run.input.reset();
  run.faulted_until = Clock::now() + kAfterFault;
  if (error.code == base::Code::kInvalidState || error.code == base::Code::kNotFound) {
    claim_at_ = {};  // another process drives it, or its state has changed
    run.faulted_until = Clock::now() + kStepEvery;
  } else {
    base::log_warn("batch_step_failed", {{"batch", schemas::batch_id(run.id)}, {"error", error.message}});
  }
}

// Keeps the batches of this process, and takes those that nobody drives.
void BatchRunner::claim() {
  if (Clock::now() < claim_at_) return;
  claim_at_ = Clock::now() + kClaimEvery;
  bool is_draining = false;
  {
    const std::lock_guard lock(answers_->mutex);
    is_draining = answers_->is_draining;
  }
  if (is_draining) return give_back();
  if (runs_.empty()) {
    const auto open = batches_.has_open();
    if (!open || !*open) return;
  }
  const auto ids = batches_.claim(kDrivenMax);
  if (!ids) return base::log_warn("batches_claim_failed", {{"error", ids.error().message}});
  renew_at_ = claim_at_;
  std::erase_if(runs_, [&](const auto& each) { return std::ranges::find(*ids, each.first) == ids->end(); });
  driven_.set(static_cast<double>(ids->size()));
  for (const base::Uuid& id : *ids) {
    const auto [run, is_new] = runs_.try_emplace(id);
    if (!is_new) continue;
    run->second.id = id;
    run->second.generation = ++generations_;
  }
}

// Before this process ends, others go on with its batches as soon as no line is unanswered.
void BatchRunner::give_back() {
  renew_when_due();
  if (has_given_back_ || in_flight(false) > 0) return;
  if (const base::Status released = batches_.release(); !released) return;
  has_given_back_ = true;
  runs_.clear();
}

// Also within a long step: otherwise another process takes the batches.
void BatchRunner::renew_when_due() {
  if (runs_.empty() || Clock::now() < renew_at_) return;
  renew_at_ = Clock::now() + kClaimEvery;
  if (const base::Status renewed = batches_.renew(); !renewed)
    base::log_warn("batches_renew_failed", {{"error", renewed.error().message}});
}

base::Result<bool> BatchRunner::step(Run& run) {
  const auto driven = batches_.find(run.id);
  if (!driven) return driven.error();
  const bool has_expired = driven->batch.expires_at <= context_.store.clock().wall();
  switch (driven->batch.status) {
    case schemas::BatchStatus::kValidating:
      return has_expired ? end_early(run, *driven) : validate(run, *driven);
    case schemas::BatchStatus::kInProgress:
      return has_expired ? end_early(run, *driven) : progress(run, *driven);
    case schemas::BatchStatus::kCancelling:
      return end_early(run, *driven);
    case schemas::BatchStatus::kFinalizing:
      return finish(run, schemas::BatchStatus::kCompleted);
    default:
      claim_at_ = {};
      return false;
  }
}

}  // namespace millrace::api
