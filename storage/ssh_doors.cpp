#include "storage/ssh_doors.h"

#include "storage/machine_table.h"
#include "storage/readers.h"

namespace millrace::storage {
namespace {

using schemas::SshDoor;

SshDoor door_in(Db& db, const base::Uuid& id, const base::Uuid& worker) {
  const auto machine = find_machine(db, {}, id);
  if (!machine || machine->phase != schemas::MachinePhase::kRunning) return SshDoor::kOver;
  if (machine->ssh && machine->ssh->owner == worker) return SshDoor::kServes;
  return endpoint_lives(db, *machine) ? SshDoor::kOver : SshDoor::kNotYet;
}

}  // namespace

base::Result<SshDoor> ssh_door(Store& store, const base::Uuid& machine, const base::Uuid& worker) {
  SshDoor door = SshDoor::kNotYet;
  if (auto read = store.readers().read([&](Db& db) { door = door_in(db, machine, worker); }); !read) {
    return std::move(read.error());
  }
  return door;
}

}  // namespace millrace::storage
