#include "workers/exec/exec_runner.h"

#include <utility>

#include "workers/exec/exec_run.h"

namespace millrace::workers {

ExecRunner::ExecRunner(Drivers drivers, Options options)
    : ExecRunner(
          [drivers = std::move(drivers)](const machines::CommandRequest& order,
                                         const machines::CancelToken& stop,
                                         const machines::CommandHooks& hooks) {
            machines::Driver* driver = drivers(order.machine.driver);
            if (driver) return driver->run(order, stop, hooks);
            machines::CommandResult end;
            end.how = machines::CommandResult::How::kNotRoutable;
            end.message = no_such_driver(order.machine.driver).message;
            return end;
          },
          std::move(options)) {}

ExecRunner::ExecRunner(RunCommand run, Options options)
    : exec_context_(std::make_shared<ExecContext>(std::move(run), std::move(options))) {}

ExecRunner::~ExecRunner() { exec_context_->slots.wait_until_empty(); }

std::shared_ptr<Run> ExecRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<ExecRun>(job, context, exec_context_, std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers
