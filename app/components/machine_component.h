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

// What of the machines' ways works on this host.
struct MachineFindings {
  std::string sandbox_off, ssh_off, sshd_off;  // why it does not, and what to do; empty: it works
  schemas::MachineFacts facts;                 // of sandbox machines, where they work
  bool runs_commands() const { return sandbox_off.empty() || ssh_off.empty(); }
};

// What executions and the acts of machines need beside a worker: the spawner, the drivers of this host, the
// machines' sshd. Made before the first runner and taken down after the worker's last run has ended; mounts
// and listeners go with it.
class MachineComponent {
 public:
  // All outlive the room. `loop` runs the wake requests and probes, and goes on until the room has gone.
  struct Dependencies {
    storage::Store& store;
    net::Loop& loop;
    std::shared_ptr<const machines::SshAuthority> authority;
    base::Uuid worker;  // its incarnation: the owner of the endpoints of sshd
  };
  // Blocks for the trials. What does not work is left out, logged, and stands in the findings.
  static std::unique_ptr<MachineComponent> open(const Settings& settings, Dependencies dependencies);
  ~MachineComponent();
  MachineComponent(const MachineComponent&) = delete;
  MachineComponent& operator=(const MachineComponent&) = delete;

  const MachineFindings& findings() const;
  // Of kind exec. `secret_key`: what environments are sealed with (api::secret_key).
  std::unique_ptr<workers::Runner> make_exec_runner(std::string secret_key);
  // Of kind machine.
  std::unique_ptr<workers::Runner> make_machine_runner();

 private:
  struct Parts;
  explicit MachineComponent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The same trials alone, for doctor, also beside a gateway that serves, in a temporary folder: nothing is
// written in the data directory. Blocks.
MachineFindings try_machines(const Settings& settings);

// The first start makes the machine `local` of tenant `default`; once destroyed it stays so. Blocks until the
// commit.
base::Status ensure_local_machine(storage::Store& store);
// The machines of the configuration file (storage::Machines::take_from_file). Blocks until the commit.
base::Status take_machines(storage::Store& store, std::vector<schemas::Machine> machines);

}  // namespace millrace::app
