#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "app/components/inference_component.h"
#include "app/components/presence.h"
#include "app/config/settings.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/result.h"
#include "workers/worker.h"

namespace millrace::app {

// The worker of a process, with what its job kinds need: engines, and machines while this process holds their
// HostLock. Without the lock it claims no executions and no machine operations; it starts to claim them when
// the process that holds the lock has ended.
class WorkerComponent {
 public:
  // All must outlive this object; `loop` must run until this object is destroyed.
  struct Dependencies {
    workers::Worker::Dependencies worker;
    net::Loop& loop;
    std::shared_ptr<const machines::SshAuthority> authority;
    InferenceComponent* inference;  // set if the kinds contain kChat, kOcr or kStt, else null
    Presence* presence;             // set if several hosts share the store, else null
  };
  // `kinds`: kExec implies kMachine. Blocks while it tests the sandboxes.
  static base::Result<std::unique_ptr<WorkerComponent>> open(const Settings& settings,
                                                             const std::vector<schemas::Kind>& kinds,
                                                             Dependencies dependencies);
  // Drains the worker if that has not been done. No run outlives its engine or its machine.
  ~WorkerComponent();
  WorkerComponent(const WorkerComponent&) = delete;
  WorkerComponent& operator=(const WorkerComponent&) = delete;

  void start();
  // As the functions of Worker; they block.
  bool stop_claiming(std::chrono::milliseconds deadline);
  bool drain(std::chrono::milliseconds deadline);

  const workers::Worker& worker() const;  // for its name and its cancel hook
  // True if the tests have shown that no machine of any kind can be used on this host.
  bool executions_off() const;
  // True if machine `local` exists and this process runs its commands.
  bool has_sandbox() const;

 private:
  struct Impl;
  explicit WorkerComponent(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::app
