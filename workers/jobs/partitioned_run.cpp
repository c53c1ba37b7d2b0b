#include "workers/jobs/partitioned_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "jobs/policy.h"
#include "storage/jobs/job_intake.h"
#include "storage/jobs/job_queries.h"
#include "workers/jobs/worker_metrics.h"
#include "workers/payload.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

constexpr std::size_t kPartsPerWrite = 16;
constexpr std::chrono::milliseconds kTimeWorthAWrite{1'000};
constexpr std::chrono::milliseconds kStageRetryDelay{500};  // the disk is full, or the pool
constexpr std::chrono::milliseconds kTimeCheckInterval{1'000};

bool is_input_fault(base::Code code) {
  constexpr int kTooLargeStatus = 413, kUnprocessableStatus = 422;
  const int status = base::info(code).http_status;
  return status == kTooLargeStatus || status == kUnprocessableStatus;
}

}  // namespace

void PartWriter::add(int index, std::string json) {
  if (json.size() > storage::kInlineMax) {
    ++staging_;
    return stage_large(index, std::move(json));
  }
  waiting_.push_back({.index = index, .payload = {std::move(json), nullptr}});
  write();
}

void PartWriter::stage_large(int index, std::string json) {
  auto text = std::make_shared<std::string>(std::move(json));
  const auto again = [self = shared_from_this(), index, text] {
    if (self->lost_) return;
    self->retry_timers_[index] = self->context_.loop().after(kStageRetryDelay, [self, index, text] {
      if (!self->lost_) self->stage_large(index, std::move(*text));
    });
  };
  const bool posted = context_.pool().post(
      base::Pool::Queue::kLarge, [self = shared_from_this(), weak_loop = context_.weak_loop(),
                                  &blobs = context_.store().blobs(), index, text, again] {
        auto staged = guarded("part", [&] { return stage_reserved(blobs, *text); });
        weak_loop.post([self, index, again, staged = std::move(staged)] {
          if (!staged) return again();
          --self->staging_;
          self->waiting_.push_back({.index = index, .payload = {{}, *staged}});
          self->write();
        });
      });
  if (!posted) again();
}

void PartWriter::write() {
  const bool has_time = on_flushed_ != nullptr && staging_ == 0 && time_ >= kTimeWorthAWrite;
  if (writing_ || lost_ || (waiting_.empty() && !has_time)) return notify_if_flushed();
  std::vector<storage::JobOutcomes::Part> batch;
  while (!waiting_.empty() && batch.size() < kPartsPerWrite) {
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  writing_ = true;
  const auto time = std::exchange(time_, std::chrono::milliseconds(0));
  context_.write_parts(std::move(batch), time, [self = shared_from_this()](bool lease_held) {
    self->writing_ = false;
    self->lost_ = self->lost_ || !lease_held;
    self->write();
  });
}

void PartWriter::flush(std::function<void(bool lease_held)> done) {
  on_flushed_ = std::move(done);
  write();
}

void PartWriter::notify_if_flushed() {
  const bool is_flushed = lost_ || (!writing_ && staging_ == 0 && waiting_.empty());
  if (is_flushed && on_flushed_) std::exchange(on_flushed_, nullptr)(!lost_);
}

using engines::EngineResult;

PartitionedRun::PartitionedRun(std::string_view kind, storage::ClaimedJob job, AttemptContext& context,
                               Runner::Ended ended)
    : kind_(kind),
      job_(std::move(job)),
      context_(context),
      ended_(std::move(ended)),
      weak_loop_(context.weak_loop()),
      writer_(std::make_shared<PartWriter>(context)) {}

void PartitionedRun::post(std::function<void()> step) {
  weak_loop_.post([self = shared_from_this(), step = std::move(step)] { self->run_step(step); });
}

void PartitionedRun::run_step(const std::function<void()>& step) {
  try {
    step();
  } catch (const std::exception& what) {
    if (!over_) fail(exception_error(kind_, what));
  }
}

void PartitionedRun::retry_later(std::function<void()> step) {
  timer_ = context_.loop().after(kStepRetryDelay, [self = shared_from_this(), step = std::move(step)] {
    self->run_step([&] {
      if (self->is_running()) step();
    });
  });
}

void PartitionedRun::read_input_later(const base::Error& error, std::function<void()> step) {
  if (!input_retries_.may_retry()) return end(Retry{error});
  retry_later(std::move(step));
}

bool PartitionedRun::is_running() {
  if (over_) return false;
  if (!stop_) return true;
  end(Cancelled{});
  return false;
}

void PartitionedRun::stop(StopReason why) {
  if (over_) return;
  stop_ = why;
  if (!cancel_) return;
  cancel_();
  if (cancel_is_silent_) end(Cancelled{});
}

void PartitionedRun::end(Outcome outcome) {
  if (std::exchange(over_, true)) return;
  writer_->abandon();
  time_timer_.cancel();
  cancel_ = nullptr;
  ended_(std::move(outcome));
}

void PartitionedRun::fail(base::Error error) {
  if (error.param.empty() && is_input_fault(error.code)) error.param = input_field();
  const bool permanent = jobs::job_retry_class(error) == base::RetryClass::kPermanent;
  if (permanent) return end(Fail{std::move(error), {}});
  end(Retry{std::move(error)});
}

void PartitionedRun::end_with(base::Result<Outcome> outcome, std::function<void()> again) {
  if (outcome) return end(std::move(*outcome));
  if (jobs::is_local_limit(outcome.error())) return retry_later(std::move(again));
  fail(outcome.error());
}

ModelBilling PartitionedRun::billing() {
  ModelBilling billing;
  if (job_.has_budget) {
    billing.before_sending = [self = shared_from_this()](const inference::CallCost& cost,
                                                         std::function<void(bool go)> go) {
      self->post([self, cost, go = std::move(go)] { self->call_model(cost, go); });
    };
  }
  billing.on_charged = [self = shared_from_this()](const schemas::Charge& charged) {
    self->post([self, charged] { self->add_used(charged); });
  };
  return billing;
}

void PartitionedRun::call_model(const inference::CallCost& cost, std::function<void(bool go)> go) {
  if (over_) return go(false);
  context_.write_call(model_call(cost, used_.cost),
                      [self = shared_from_this(), go = std::move(go)](bool lease_held) {
                        if (!lease_held) self->end(Abandoned{});
                        go(!self->over_);
                      });
}

void PartitionedRun::add_used(const schemas::Charge& used) {
  if (over_) return;
  used_.cost += used.cost;
  used_.tokens += used.tokens;
  used_.audio_ms += used.audio_ms;
  context_.set_used(used_);
}

void PartitionedRun::set_cancel(Cancel cancel, bool silent) {
  cancel_ = std::move(cancel);
  cancel_is_silent_ = silent;
}

base::Result<PartitionedRun::Cancel> PartitionedRun::cancel_of(base::Result<engines::EngineCallHandle> call) {
  if (!call) return call.error();
  return Cancel([call = std::move(*call)] { call.cancel(); });
}

void PartitionedRun::set_remaining_parts(const std::vector<int>& indices, const std::vector<int>& finished) {
  remaining_.insert(indices.begin(), indices.end());
  for (const int part : finished) remaining_.erase(part);
}

void PartitionedRun::reserve_parts() {
  parts_reserved_ = true;
  schemas::NanoUsd most = 0;
  for (const int part : remaining_) most += schemas::nano_usd(part_price(part));
  if (most > 0) add_used({});
  if (most == 0 || !job_.has_budget) return process_remaining_parts();
  context_.write_call({.attempt_max = most}, [self = shared_from_this()](bool lease_held) {
    if (!self->is_running()) return;
    if (!lease_held) return self->end(Abandoned{});
    self->run_step([self] { self->process_remaining_parts(); });
  });
}

void PartitionedRun::process_remaining_parts() {
  if (!parts_reserved_) return reserve_parts();
  if (remaining_.empty()) return flush_then([this] { merge_parts(); });
  if (is_time_up()) return fail_remaining();
  if (!context().may_start()) return end(Abandoned{});
  std::vector<int> parts(remaining_.begin(),
                         one_part_per_call() ? std::next(remaining_.begin()) : remaining_.end());
  auto begun = recognise(std::move(parts));
  if (!begun) return retry_later([this] { process_remaining_parts(); });
  set_cancel(std::move(*begun));
}

void PartitionedRun::on_part(int index, const std::string& json, bool good, std::chrono::milliseconds cpu) {
  if (is_over() || remaining_.erase(index) == 0) return;
  count(good);
  add_time(cpu);
  if (const schemas::NanoUsd price = good ? schemas::nano_usd(part_price(index)) : 0; price > 0)
    add_used({.cost = price});
  writer_->add(index, json);
  stop_if_time_is_up();
}

void PartitionedRun::limit_engine_time(std::chrono::milliseconds limit, std::chrono::milliseconds used) {
  time_max_ = limit;
  time_used_ = used;
  if (is_child()) check_time_regularly();
}

void PartitionedRun::check_time_regularly() {
  time_timer_ = context_.loop().after(kTimeCheckInterval, [self = shared_from_this()] {
    if (self->over_) return;
    auto read = [self, &store = self->context_.store()] {
      const auto stored = storage::JobQueries(store).engine_time(*self->job_.parent);
      if (stored) self->post([self, stored = *stored] { self->take_time_of_root(stored); });
    };
    static_cast<void>(self->context_.pool().post(Queue::kQuick, std::move(read)));  // full: the next time
    self->check_time_regularly();
  });
}

void PartitionedRun::take_time_of_root(std::chrono::milliseconds stored) {
  if (!is_running()) return;
  time_used_ = std::max(time_used_, stored + writer_->unwritten_time());
  stop_if_time_is_up();
}

void PartitionedRun::stop_if_time_is_up() {
  if (is_time_up() && !remaining_.empty() && cancel_) cancel_();
}

void PartitionedRun::add_time(std::chrono::milliseconds cpu) {
  time_used_ += cpu;
  writer_->add_time(cpu);
}

void PartitionedRun::fail_remaining() {
  const base::Error error = time_error(time_max_);
  log_job(base::LogLevel::kWarn, "engine_time_used_up", job(),
          {{"parts_left", remaining_.size()}, {"engine_ms", time_used_.count()}});
  for (const int part : std::set<int>(remaining_)) on_part(part, failed_part(part, error), false, {});
  process_remaining_parts();
}

std::function<void(EngineResult)> PartitionedRun::on_end() {
  return [this, self = shared_from_this()](EngineResult result) {
    post([this, result = std::move(result)] { engine_ended(result); });
  };
}

void PartitionedRun::engine_ended(const EngineResult& result) {
  clear_cancel();
  if (!is_running()) return;
  add_time(result.cpu);
  switch (result.kind) {
    case EngineResult::Kind::kDone:
      return process_remaining_parts();
    case EngineResult::Kind::kCrashed:
      if (remaining_.empty()) return process_remaining_parts();  // every part was already done
      return crashed(one_part_per_call() || result.page < 0 ? *remaining_.begin() : result.page);
    case EngineResult::Kind::kCancelled:
      if (is_time_up()) return process_remaining_parts();
      return end(Abandoned{});  // the engine shuts down; the job goes to another worker
    case EngineResult::Kind::kFailed:
      return fail(
          engine_error(result.error.value_or(base::error(base::Code::kInternal, "the local engine failed"))));
  }
}

// The last allowed crash does not end the job: only the part that caused it fails.
void PartitionedRun::crashed(int suspect_part) {
  log_job(base::LogLevel::kWarn, "part_crashed", job(),
          {{"part", suspect_part}, {"crashes", job().crashes + 1}});
  const base::Error error = crash_error(suspect_part);
  if (job().crashes + 1 < jobs::kCrashesMax) {
    return flush_then([this, error] { end(Retry{error, true}); });
  }
  on_part(suspect_part, failed_part(suspect_part, error), false, {});
  process_remaining_parts();
}

void PartitionedRun::flush_then(std::function<void()> then) {
  writer_->flush([this, self = shared_from_this(), then = std::move(then)](bool lease_held) {
    if (!is_running()) return;
    if (!lease_held) return end(Abandoned{});
    run_step(then);
  });
}

}  // namespace millrace::workers
