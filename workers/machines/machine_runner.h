#pragma once
#include <functional>
#include <memory>

#include "machines/driver.h"
#include "platform/net/http/http_client.h"
#include "platform/process/spawner.h"
#include "schemas/machines/machine_lifecycle.h"
#include "workers/exec/exec_runner.h"
#include "workers/runner.h"

namespace millrace::workers {

// Jobs of kind machine: the acts of machines (schemas/machines/machine_lifecycle.h), each on a thread of its
// own. Waking follows the machine's wake rule (a command of the operator's on this host, or a POST; then its
// probe until the rule's timeout: machine_wake_failed), then the driver's start. The job's end moves the
// machine and what waits for it (storage/machines/machines.h).
class MachineRunner final : public Runner {
 public:
  struct Dependencies {
    Drivers driver;
    process::Spawner& spawner;  // of wake commands
    net::HttpClient& http;      // of wake requests and probes; its loop goes on until the runner has gone
    // Opens the machine's sshd; kMachineNotRoutable where there is none.
    std::function<base::Result<schemas::SshEndpoint>(const schemas::Machine&)> open_ssh;
    std::function<void(const base::Uuid& machine)> close_ssh;  // before a machine stops
  };
  explicit MachineRunner(Dependencies dependencies);
  // Waits for the acts that still go on; their runs have been told to stop.
  ~MachineRunner() override;
  MachineRunner(const MachineRunner&) = delete;
  MachineRunner& operator=(const MachineRunner&) = delete;

  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;

  struct Context;

 private:
  const std::shared_ptr<Context> worker_context_;
};

}  // namespace millrace::workers
