#pragma once
#include <memory>
#include <string>

#include "app/settings.h"
#include "platform/base/result.h"
#include "storage/store.h"
#include "workers/runner.h"

namespace millrace::app {

// What executions need beside a worker: the spawner and the jail of this host's machines. Made before the
// first runner and taken down after the worker's last run has ended.
class MachineRoom {
 public:
  // Blocks for the trial of the jail. Error: it does not work here; the message says what to do.
  static base::Result<std::unique_ptr<MachineRoom>> open(const Settings& settings);
  ~MachineRoom();
  MachineRoom(const MachineRoom&) = delete;
  MachineRoom& operator=(const MachineRoom&) = delete;

  // `secret_key`: what environments are sealed with (api::secret_key).
  std::unique_ptr<workers::Runner> make_runner(std::string secret_key);

 private:
  struct Parts;
  explicit MachineRoom(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// The first start makes the machine `local` of tenant `default`; once destroyed it stays so. Blocks until the
// commit.
base::Status ensure_local_machine(storage::Store& store);

}  // namespace millrace::app
