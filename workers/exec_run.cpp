#include "workers/exec_run.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "platform/base/log.h"
#include "workers/exec_outcome.h"
#include "workers/exec_task.h"
#include "workers/guarded.h"

namespace millrace::workers {
namespace {

using base::Code;
using Lane = base::Pool::Lane;

// Between two tries of what met a bound of ours: a full pool or disk, no thread.
constexpr std::chrono::milliseconds kAgain{250};

}  // namespace

ExecRun::ExecRun(const storage::Claimed& job, AttemptContext& context, std::shared_ptr<ExecShop> shop,
                 Runner::Ended ended)
    : job_(std::make_shared<const storage::Claimed>(job)),
      context_(context),
      shop_(std::move(shop)),
      ended_(std::move(ended)) {}

void ExecRun::post(const LoopLink& link, std::weak_ptr<ExecRun> run, std::function<void(ExecRun&)> step) {
  link.post([run = std::move(run), step = std::move(step)] {
    if (const auto self = run.lock()) self->take(step);
  });
}

void ExecRun::take(const std::function<void(ExecRun&)>& step) {
  try {
    step(*this);
  } catch (const std::exception& what) {
    broke(what);
  }
}

// The command is not left running behind a run that cannot follow it.
void ExecRun::broke(const std::exception& what) {
  if (over_) return;
  fault_ = base::error(Code::kHostAgentFailed, threw("exec", what).message);
  if (command_ && !end_) return command_->kill();
  end(Fail{*fault_, {}});
}

void ExecRun::again_later(std::function<void(ExecRun&)> step) {
  timer_ = context_.loop().after(kAgain, [weak = weak_from_this(), step = std::move(step)] {
    const auto self = weak.lock();
    if (self && self->goes_on()) self->take(step);
  });
}

// Asked before the command begins.
bool ExecRun::goes_on() {
  if (over_) return false;
  if (!stop_) return true;
  if (stop_ != Stop::kCancel) {
    end(Lost{});
  } else {
    end(Cancelled{{schemas::to_json(schemas::ExecutionResult{}), nullptr}});
  }
  return false;
}

void ExecRun::end(Outcome outcome) {
  if (!std::exchange(over_, true)) ended_(std::move(outcome));
}

void ExecRun::stop(Stop why) {
  if (over_ || stop_ == Stop::kLost) return;
  stop_ = why;
  if (!command_) return;
  if (why != Stop::kLost) return command_->stop();
  command_->kill();
  if (end_) end(Lost{});
}

void ExecRun::begin() {
  if (!context_.may_start()) return end(Lost{});
  prepare();
}

void ExecRun::prepare() {
  const bool posted = context_.pool().post(
      job_->spec_blob ? Lane::kLarge : Lane::kQuick,
      [weak = weak_from_this(), link = context_.link(), &store = context_.store(), job = job_, shop = shop_] {
        auto order = std::make_shared<base::Result<machines::CommandOrder>>(
            guarded("exec", [&] { return command_order(store, *job, shop->options.secret_key); }));
        post(link, weak, [order](ExecRun& run) { run.prepared(std::move(*order)); });
      });
  if (!posted) again_later([](ExecRun& run) { run.prepare(); });
}

void ExecRun::prepared(base::Result<machines::CommandOrder> order) {
  if (!goes_on()) return;
  if (!order) return refused(order.error());
  run(std::make_shared<machines::CommandOrder>(std::move(*order)));
}

// Nothing has begun: what may pass is tried again, by another attempt where the job may have one.
void ExecRun::refused(const base::Error& error) {
  if (error.code == Code::kOverloaded) {
    return again_later([](ExecRun& run) { run.prepare(); });
  }
  base::log_warn("exec_not_prepared",
                 {{"job_id", job_->lease.job.str()}, {"tenant", job_->tenant}, {"why", error.message}});
  if (base::info(error.code).retry == base::RetryClass::kPermanent) return end(Fail{error, {}});
  if (job_->rerun == schemas::Rerun::kAtLeastOnce) return end(Retry{error});
  end(Fail{base::error(Code::kHostAgentFailed, "the command could not be prepared"), {}});
}

void ExecRun::run(const OrderPtr& order) {
  if (!context_.may_start()) return end(Lost{});
  timeout_ = order->timeout;
  const LoopLink link = context_.link();
  const std::weak_ptr<ExecRun> weak = weak_from_this();
  ExecCommand::Hooks hooks{
      .output = [link, weak] { post(link, weak, [](ExecRun& run) { run.write_output(); }); },
      .ended =
          [link, weak](machines::CommandEnd end) {
            post(link, weak, [end = std::move(end)](ExecRun& run) { run.ended(end); });
          }};
  try {
    command_ = std::make_unique<ExecCommand>(shop_, *order, std::move(hooks));
  } catch (const std::system_error&) {
    base::log_warn("exec_thread_refused", {{"job_id", job_->lease.job.str()}, {"tenant", job_->tenant}});
    again_later([order](ExecRun& run) { run.run(order); });
  }
}

void ExecRun::write_output() {
  if (over_ || writing_) return;
  auto events = command_->output().take();
  if (events.empty()) return settle();
  writing_ = true;
  context_.write_events(std::move(events), [weak = weak_from_this()](bool held) {
    const auto self = weak.lock();
    if (self) self->take([held](ExecRun& run) { run.written(held); });
  });
}

void ExecRun::written(bool held) {
  if (over_) return;
  writing_ = false;
  if (!held) {
    lost_ = true;
    command_->kill();
  }
  write_output();
}

void ExecRun::ended(const machines::CommandEnd& end) {
  if (over_) return;
  end_ = end;
  if (end.how == machines::CommandEnd::How::kHostFailed) {
    base::log_error("exec_host_failed",
                    {{"job_id", job_->lease.job.str()}, {"tenant", job_->tenant}, {"why", end.message}});
  }
  command_->output().close();
  if (lease_lost() || fault_) return settle();
  write_output();
}

// The job ends when its command has, and all that it wrote is in the store.
void ExecRun::settle() {
  if (over_ || !end_) return;
  if (lease_lost()) return end(Lost{});
  if (fault_) return end(Fail{*fault_, {}});
  end(exec_outcome(*end_, command_->output().counts(), stop_, timeout_));
}

}  // namespace millrace::workers
