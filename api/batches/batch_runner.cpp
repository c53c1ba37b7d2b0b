#include "api/batches/batch_runner.h"

#include <algorithm>
#include <utility>

#include "platform/base/log.h"

namespace millrace::api {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kClaimEvery{1'000};
constexpr milliseconds kStepEvery{100}, kStepEveryMax{1'000};  // while jobs run
constexpr milliseconds kAfterFault{1'000};
base::Counter line_counter(base::Metrics& metrics, const char* outcome) {
  return metrics.counter("millrace_batch_lines_total", "Requests of batches that have ended",
                         {{"outcome", outcome}});
}

constexpr int kDrivenMax =
    1'000;  // batches of one process; others wait for another process, or for their end

}  // namespace

BatchRunner::BatchRunner(Context& context, Guard& guard, const Auth& auth)
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

void BatchRunner::wake() {
  const std::lock_guard lock(arrivals_->mutex);
  arrivals_->is_woken = true;
  arrivals_->changed.notify_all();
}

void BatchRunner::refuse_new() {
  const std::lock_guard lock(arrivals_->mutex);
  arrivals_->is_draining = true;
}

void BatchRunner::stop() {
  {
    const std::lock_guard lock(arrivals_->mutex);
    arrivals_->is_stopped = true;
    arrivals_->changed.notify_all();
  }
  if (!thread_.joinable()) return;
  thread_.join();
  if (runs_.empty()) return;
  if (const base::Status released = batches_.release(); !released)
    base::log_warn("batches_release_failed", {{"error", released.error().message}});
}

void BatchRunner::run() {
  for (;;) {
    claim();
    step_all();
    auto next = Clock::now() + kClaimEvery;
    for (const auto& [id, each] : runs_) next = std::min(next, each.due);
    std::unique_lock lock(arrivals_->mutex);
    arrivals_->changed.wait_until(lock, next, [this] {
      return arrivals_->is_stopped || arrivals_->is_woken || !arrivals_->replies.empty();
    });
    if (arrivals_->is_stopped) return;
    if (std::exchange(arrivals_->is_woken, false)) claim_at_ = {};
    for (const Arrival& each : arrivals_->replies) {
      if (const auto run = runs_.find(each.batch); run != runs_.end()) run->second.due = {};
    }
  }
}

// A batch in which nothing happens is looked at less and less often.
void BatchRunner::step_all() {
  for (auto& [id, each] : runs_) {
    const auto now = Clock::now();
    if (now < each.due) continue;
    const auto more = step(each);
    const bool goes_on = more && *more;
    each.wait = goes_on ? milliseconds(0) : std::clamp(each.wait * 2, kStepEvery, kStepEveryMax);
    if (more) {
      each.due = now + each.wait;
      continue;
    }
    each.validation = nullptr;  // it begins again
    each.input.reset();
    each.due = each.paused_until = now + kAfterFault;
    const auto code = more.error().code;
    if (code == base::Code::kInvalidState || code == base::Code::kNotFound) {
      claim_at_ = {};  // another process drives it
    } else {
      base::log_warn("batch_step_failed",
                     {{"batch", schemas::batch_id(id)}, {"error", more.error().message}});
    }
  }
}

// Keeps the batches of this process, and takes those that nobody drives.
void BatchRunner::claim() {
  if (Clock::now() < claim_at_) return;
  claim_at_ = Clock::now() + kClaimEvery;
  if (runs_.empty()) {
    const auto open = batches_.has_open();
    if (!open || !*open) return;
  }
  const auto ids = batches_.claim(kDrivenMax);
  if (!ids) return base::log_warn("batches_claim_failed", {{"error", ids.error().message}});
  std::erase_if(runs_, [&](const auto& each) { return std::ranges::find(*ids, each.first) == ids->end(); });
  driven_.set(static_cast<double>(ids->size()));
  for (const base::Uuid& id : *ids) {
    const auto [run, is_new] = runs_.try_emplace(id);
    if (!is_new) continue;
    run->second.id = id;
    run->second.generation = ++generations_;
  }
}

base::Result<bool> BatchRunner::step(Run& run) {
  if (Clock::now() < run.paused_until) {
    const auto taken = take_replies(run);
    return taken ? base::Result<bool>(false) : taken.error();
  }
  const auto driven = batches_.find(run.id);
  if (!driven) return driven.error();
  switch (driven->batch.status) {
    case schemas::BatchStatus::kValidating:
      return validate(run, *driven);
    case schemas::BatchStatus::kInProgress:
      if (driven->batch.expires_at <= context_.store.clock().wall()) return wind_up(run, *driven);
      return progress(run, *driven);
    case schemas::BatchStatus::kCancelling:
      return wind_up(run, *driven);
    case schemas::BatchStatus::kFinalizing:
      return finish(run, schemas::BatchStatus::kCompleted);
    default:
      claim_at_ = {};
      return false;
  }
}

}  // namespace millrace::api
