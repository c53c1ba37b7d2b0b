#include "workers/exec_runner.h"

#include <utility>

#include "workers/exec_run.h"

namespace millrace::workers {

ExecRunner::ExecRunner(machines::Sandbox& sandbox, Options options)
    : ExecRunner(
          [&sandbox](const machines::CommandOrder& order, const machines::StopSwitch& stop,
                     const machines::Sandbox::OnOutput& on_output) {
            return sandbox.run(order, stop, on_output);
          },
          std::move(options)) {}

ExecRunner::ExecRunner(RunCommand run, Options options)
    : shop_(std::make_shared<ExecShop>(std::move(run), std::move(options))) {}

ExecRunner::~ExecRunner() { shop_->slots.wait_until_empty(); }

std::shared_ptr<Run> ExecRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<ExecRun>(job, context, shop_, std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
