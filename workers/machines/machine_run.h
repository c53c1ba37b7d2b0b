#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "machines/driver.h"
#include "platform/net/http/http_client.h"
#include "platform/process/spawner.h"
#include "schemas/machines/machine_lifecycle.h"
#include "workers/exec/exec_run.h"
#include "workers/jobs/slot_threads.h"
#include "workers/runner.h"

namespace millrace::workers {

// Runs jobs of kind machine: the acts of machines (schemas/machines/machine_lifecycle.h), each on a dedicated
// thread. A wake first applies the machine's wake rule: the operator's command on this host, or a POST, then
// the probe. If the probe has not succeeded by the rule's timeout, the act fails with machine_wake_failed.
// Then the driver starts the machine. The end of the job changes the state of the machine and of the jobs
// that wait for it (storage/machines/machines.h).
class MachineRunner final : public Runner {
 public:
  struct Dependencies {
    Drivers driver;
    process::Spawner& spawner;  // for wake commands
    net::HttpClient& http;      // for wake requests and probes; its loop must outlive the runner
    // Starts the machine's SSH listener; kMachineNotRoutable: the machine has none.
    std::function<base::Result<schemas::SshEndpoint>(const schemas::Machine&)> open_ssh;
    std::function<void(const base::Uuid& machine)> close_ssh;  // before a machine stops
  };
  explicit MachineRunner(Dependencies dependencies);
  // Waits for the acts that still run. REQUIRES: their runs have been stopped.
  ~MachineRunner() override;
  MachineRunner(const MachineRunner&) = delete;
  MachineRunner& operator=(const MachineRunner&) = delete;

  std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) override;

  struct Context;

 private:
  const std::shared_ptr<Context> runner_context_;
};

// Shared by all runs of a runner.
struct MachineRunner::Context {
  explicit Context(Dependencies h) : dependencies(std::move(h)) {}
  const Dependencies dependencies;
  SlotThreads slots;
};

// One attempt at an act, which runs on a dedicated thread. Loop thread only.
class MachineRun final : public Run, public std::enable_shared_from_this<MachineRun> {
 public:
  MachineRun(AttemptContext& context, std::shared_ptr<MachineRunner::Context> runner_context,
             Runner::Ended ended);
  // Stops the act and joins its thread.
  ~MachineRun() override;
  void begin(const storage::ClaimedJob& job);
  void stop(StopReason why) override;

 private:
  void run(const schemas::ActSpec& spec);
  void ended(Outcome outcome);
  void end(Outcome outcome);

  AttemptContext& context_;
  const std::shared_ptr<MachineRunner::Context> runner_context_;
  Runner::Ended ended_;
  machines::CancelToken cancel_token_;
  std::optional<StopReason> stop_;
  bool over_ = false;
  std::jthread thread_;
};

}  // namespace millrace::workers
