#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "workers/runner.h"

namespace millrace::workers {

// Returns this host's driver of a kind; null: the host has none.
using Drivers = std::function<machines::Driver*(schemas::MachineDriver)>;

// The error for the machine's owner; the log has the reason.
inline base::Error no_such_driver(schemas::MachineDriver driver) {
  return base::error(base::Code::kMachineNotRoutable,
                     "machines of driver `" + std::string(schemas::name(driver)) +
                         "` cannot be used on this host; run `millrace doctor` for the reason");
}

// Runs one command to its end on the calling thread, as machines::Driver::run of the order's machine does.
using RunCommand = std::function<machines::CommandResult(const machines::CommandRequest& order,
                                                         const machines::CancelToken& stop,
                                                         const machines::CommandHooks& hooks)>;

struct ExecContext;

// Runs jobs of kind exec: one command on a machine, on a dedicated thread. Its output is written as events of
// the job while it runs; its files become artifacts. The job ends when all of them are in the store. An event
// `warning` {"message"} lists the files that were not kept. A running command is never handed over to another
// worker: a worker that shuts down lets it run for the drain grace period, then stops it.
class ExecRunner final : public Runner {
 public:
  struct Options {
    std::string secret_key;                         // 32 bytes: environments are encrypted with it
    std::size_t output_max = std::size_t{1} << 20;  // exec.output_max: bytes kept per stream
  };
  // The drivers must outlive the runner.
  ExecRunner(Drivers drivers, Options options);
  ExecRunner(RunCommand run, Options options);
  // Waits for the commands that still run. REQUIRES: their runs have been stopped.
  ~ExecRunner() override;
  ExecRunner(const ExecRunner&) = delete;
  ExecRunner& operator=(const ExecRunner&) = delete;

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

 private:
  const std::shared_ptr<ExecContext> exec_context_;
};

}  // namespace millrace::workers
