#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "workers/runner.h"

namespace millrace::workers {

// The drivers of this host; null: it has none of that kind.
using Drivers = std::function<machines::Driver*(schemas::MachineDriver)>;

// For whoever owns the machine; why it is so stands in the log.
inline base::Error no_such_driver(schemas::MachineDriver driver) {
  return base::error(base::Code::kMachineNotRoutable,
                     "machines of driver `" + std::string(schemas::name(driver)) +
                         "` cannot be used on this host; `millrace doctor` says why");
}

// Runs one command to its end on the calling thread, as machines::Driver::run of the order's machine does.
using RunCommand = std::function<machines::CommandEnd(const machines::CommandRequest& order,
                                                      const machines::CancelToken& stop,
                                                      const machines::CommandHooks& hooks)>;

struct ExecContext;

// Jobs of kind exec: one command on a machine, on a thread of its own. What it writes becomes events of the
// job while it runs, what it leaves becomes artifacts; the job ends once they all are in the store. Files
// that were not kept are told by an event `warning` {"message"}. A command is never handed over: a worker
// that ends lets it run for its grace, then stops it.
class ExecRunner final : public Runner {
 public:
  struct Options {
    std::string secret_key;                         // 32 bytes: environments are sealed under it
    std::size_t output_max = std::size_t{1} << 20;  // exec.output_max: kept per stream, the rest is counted
  };
  // The drivers must outlive the runner.
  ExecRunner(Drivers drivers, Options options);
  ExecRunner(RunCommand run, Options options);
  // Waits for the commands that still run; their runs have been told to stop.
  ~ExecRunner() override;
  ExecRunner(const ExecRunner&) = delete;
  ExecRunner& operator=(const ExecRunner&) = delete;

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

 private:
  const std::shared_ptr<ExecContext> exec_context_;
};

}  // namespace millrace::workers
