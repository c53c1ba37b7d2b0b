#include "workers/machines/machine_runner.h"

#include <utility>

#include "workers/machines/machine_run.h"

namespace millrace::workers {

MachineRunner::MachineRunner(Dependencies dependencies)
    : runner_context_(std::make_shared<Context>(std::move(dependencies))) {}

MachineRunner::~MachineRunner() { runner_context_->slots.wait_until_empty(); }

std::shared_ptr<Run> MachineRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<MachineRun>(context, runner_context_, std::move(ended));
  run->begin(job);
  return run;
}

}  // namespace millrace::workers
