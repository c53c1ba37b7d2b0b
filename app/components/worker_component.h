#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "app/components/inference_component.h"
#include "app/config/settings.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/result.h"
#include "workers/worker.h"

namespace millrace::app {

// The worker of a process with what its kinds need beside it: engines, and machines while this process has
// their seat (MachineSeat). Without the seat it claims no executions and no acts of machines, and goes on
// with them when whoever has it has ended.
class WorkerComponent {
 public:
  // All outlive the room; `loop` runs until it has gone.
  struct Dependencies {
    workers::Worker::Dependencies worker;
    net::Loop& loop;
    std::shared_ptr<const machines::SshAuthority> authority;
    InferenceComponent* inference;  // where kChat, kOcr or kStt is among the kinds; null else
  };
  // `kinds`: kMachine comes with kExec. Blocks for the trials.
  static base::Result<std::unique_ptr<WorkerComponent>> open(const Settings& settings,
                                                             const std::vector<schemas::Kind>& kinds,
                                                             Dependencies dependencies);
  // What runs is given `drain`'s last chance; no run outlives its engine or its machine.
  ~WorkerComponent();
  WorkerComponent(const WorkerComponent&) = delete;
  WorkerComponent& operator=(const WorkerComponent&) = delete;

  void start();
  // As Worker's; they block.
  bool stop_claiming(std::chrono::milliseconds deadline);
  bool drain(std::chrono::milliseconds deadline);

  const workers::Worker& worker() const;  // its name, and its cancel hook
  // This host was tried, and no machine of any kind can be used on it.
  bool executions_off() const;
  // Machine `local` is there, and this process runs its commands.
  bool has_sandbox() const;

 private:
  struct Parts;
  explicit WorkerComponent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::app
