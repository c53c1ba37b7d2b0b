#pragma once
#include <memory>
#include <string>
#include <vector>

#include "app/config/settings.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/result.h"
#include "platform/net/loop.h"
#include "schemas/machines/machine.h"
#include "storage/store.h"
#include "workers/runner.h"

namespace millrace::app {

// Which machine drivers work on this host.
struct MachineFindings {
  std::string sandbox_off, ssh_off, sshd_off;  // why it does not work, and what to do; empty: it works
  schemas::MachineFacts facts;                 // facts of sandbox machines, if they work
  bool runs_commands() const { return sandbox_off.empty() || ssh_off.empty(); }
};

// What executions and machine operations need in addition to a worker: the spawner, the drivers of this host
// and the machines' sshd. Create it before the first runner; destroy it after the worker's last run. Its
// mounts and listeners end with it.
class MachineComponent {
 public:
  // All must outlive this object. `loop` runs the wake requests and probes, and must run until this object is
  // destroyed.
  struct Dependencies {
    storage::Store& store;
    net::Loop& loop;
    std::shared_ptr<const machines::SshAuthority> authority;
    base::Uuid worker;  // the worker's incarnation, which owns the sshd endpoints
  };
  // Blocks while it tests the drivers. A driver that does not work is left out, logged, and reported in the
  // findings.
  static std::unique_ptr<MachineComponent> open(const Settings& settings, Dependencies dependencies);
  ~MachineComponent();
  MachineComponent(const MachineComponent&) = delete;
  MachineComponent& operator=(const MachineComponent&) = delete;

  const MachineFindings& findings() const;
  // Makes the runner of kind exec. `secret_key`: the key that encrypts stored environments (api::secret_key).
  std::unique_ptr<workers::Runner> make_exec_runner(std::string secret_key);
  // Makes the runner of kind machine.
  std::unique_ptr<workers::Runner> make_machine_runner();

 private:
  struct Impl;
  explicit MachineComponent(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

// The same tests for `millrace doctor`, also while a gateway runs. They use a temporary folder and write
// nothing to the data directory. Blocks.
MachineFindings probe_machines(const Settings& settings);

// Creates the machine `local` of tenant `default` at the first start. Once it is destroyed, it is not created
// again. Blocks until the commit.
base::Status ensure_local_machine(storage::Store& store);
// Stores the machines of the configuration file (storage::Machines::apply_config_file). Blocks until the
// commit.
base::Status apply_machines(storage::Store& store, std::vector<schemas::Machine> machines);

}  // namespace millrace::app
