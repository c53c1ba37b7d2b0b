#include "workers/machines/machine_runner.h"

#include <utility>

#include "workers/machines/machine_run.h"

namespace millrace::workers {

MachineRunner::MachineRunner(House house) : shop_(std::make_shared<Shop>(std::move(house))) {}

MachineRunner::~MachineRunner() { shop_->slots.wait_until_empty(); }

std::shared_ptr<Run> MachineRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<MachineRun>(context, shop_, std::move(ended));
  run->begin(job);
  return run;
}

}  // namespace millrace::workers
