#include "workers/machines/machine_run.h"

#include <system_error>
#include <utility>

#include <pthread.h>

#include "platform/base/log.h"
#include "workers/machines/machine_act.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

using base::Code;

Outcome act(const ActDependencies& dependencies, const schemas::ActSpec& spec) {
  auto outcome = guarded("machine", [&]() -> base::Result<Outcome> { return run_act(dependencies, spec); });
  if (outcome) return *std::move(outcome);
  return Retry{std::move(outcome.error())};
}

}  // namespace

MachineRun::MachineRun(AttemptContext& context, std::shared_ptr<MachineRunner::Context> runner_context,
                       Runner::Ended ended)
    : context_(context), runner_context_(std::move(runner_context)), ended_(std::move(ended)) {}

MachineRun::~MachineRun() { cancel_token_.kill(); }

void MachineRun::begin(const storage::ClaimedJob& job) {
  if (!context_.may_start()) return end(Abandoned{});
  const auto spec = schemas::act_spec_from_json(job.spec);
  if (!spec) return end(Fail{base::error(Code::kInternal, "the job's stored spec cannot be read"), {}});
  const auto no_thread = base::error(
      Code::kOverloaded, "no thread or file descriptor is left for the act: raise `ulimit -u -n`");
  if (cancel_token_.fd() < 0) return end(Retry{no_thread});
  runner_context_->slots.enter();
  try {
    run(*spec);
  } catch (const std::system_error&) {
    runner_context_->slots.leave();
    end(Retry{no_thread});
  }
}

void MachineRun::run(const schemas::ActSpec& spec) {
  thread_ = std::jthread([spec, runner_context = runner_context_, &store = context_.store(),
                          &stop = cancel_token_, start_allowed = context_.start_check(),
                          weak_loop = context_.weak_loop(), weak = weak_from_this()] {
    pthread_setname_np(pthread_self(), "machine");
    auto outcome =
        std::make_shared<Outcome>(act({runner_context->dependencies, store, stop, start_allowed}, spec));
    weak_loop.post([weak, outcome] {
      if (const auto self = weak.lock()) self->ended(std::move(*outcome));
    });
    runner_context->slots.leave();
  });
}

void MachineRun::stop(StopReason why) {
  if (over_) return;
  stop_ = why;
  cancel_token_.kill();
}

void MachineRun::ended(Outcome outcome) {
  const bool obeyed = std::holds_alternative<Abandoned>(outcome);
  if (obeyed && stop_ == StopReason::kCancel) return end(Cancelled{});
  end(std::move(outcome));
}

void MachineRun::end(Outcome outcome) {
  if (!std::exchange(over_, true)) ended_(std::move(outcome));
}

MachineRunner::MachineRunner(Dependencies dependencies)
    : runner_context_(std::make_shared<Context>(std::move(dependencies))) {}

MachineRunner::~MachineRunner() { runner_context_->slots.wait_until_empty(); }

std::shared_ptr<Run> MachineRunner::start(const storage::ClaimedJob& job, AttemptContext& context,
                                          Ended ended) {
  auto run = std::make_shared<MachineRun>(context, runner_context_, std::move(ended));
  run->begin(job);
  return run;
}

}  // namespace millrace::workers
