#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/machines/machine.h"
#include "schemas/machines/machine_request.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

namespace millrace::storage {

// A machine operation fails if no worker has started it after this time.
inline constexpr std::chrono::hours kActDeadline{1};

enum class MachineCommand : std::uint8_t { kRun, kSleep, kReboot, kForcedReboot, kDestroy };

// The machines of this store, for one tenant. Writes never block (`done` runs on the completion thread after
// the commit); reads block: for pool and slot threads. A machine is shown until it is destroyed. Its row is
// never deleted, so that its number, and with it its uid, is never used again.
//
// A machine operation (schemas/machines/machine_lifecycle.h) is a job of kind machine. It is inserted in the
// transaction of the command. At most one runs per machine, and the end of one inserts the next. Whatever the
// end of such a job is, its last transaction also updates the machine's phase and settles what waits for it:
// executions and SSH sessions are released, or fail with `machine_wake_failed` or `machine_not_routable`.
class Machines {
 public:
  using Reply = ReplyBuilder<schemas::Machine>;

  explicit Machines(Store& store) : store_(store) {}

  // Inserts a new row in phase accepted, and starts its first operation. Its `number` is the next free one;
  // its times are the group's. kInvalidState: the id exists. kQuotaFull: a quota of the tenant or the calling
  // key (machines, vcpu, memory_mib, storage_gib).
  void create(schemas::Machine machine, IdempotentCall call, Reply reply, Callback<CallReply> done);
  // The tenant's machine `local`. It is created with the defaults of schemas::Machine if the store has never
  // created one. kNotFound: it was created and has been destroyed since.
  void ensure_local(std::string tenant, base::Uuid fresh, schemas::JobId act,
                    Callback<schemas::Machine> done);
  // Applies the machines of the configuration file, by id: new ones are created, others are changed to match
  // the file. A machine that is no longer in the file is kept and belongs to the API from then on. `acts`:
  // one new id for each. kInvalidState names a machine whose id belongs to another tenant or driver, or that
  // was destroyed.
  void apply_config_file(std::vector<schemas::Machine> machines, std::vector<schemas::JobId> acts,
                         Callback<int> done);

  // kNotFound. kInvalidState: the machine is being destroyed, belongs to the configuration file, or would
  // become smaller than its disk image (storage_gib only grows). kQuotaFull: as `create`, if it grows; for
  // the key that created it.
  void change(base::Uuid id, schemas::MachineChange change, IdempotentCall call, Reply reply,
              Callback<CallReply> done);
  // kRun, kSleep: no change if the machine is already in that state. kSleep, kReboot: kInvalidState while
  // executions run on it or are queued for it. kForcedReboot and kDestroy cancel them first. kInvalidState
  // also for: kDestroy of a machine of the configuration file, any command but kDestroy while it is being
  // destroyed, and a reboot while its sshd is being started. A reboot wakes a machine that is asleep. Audited
  // with the call's actor.
  void submit_command(base::Uuid id, MachineCommand command, IdempotentCall call, Reply reply,
                      Callback<CallReply> done);
  // The disk of the machine has become read-only (schemas::MachineFacts), or is whole again. False: it was so
  // before.
  void note_disk(base::Uuid id, bool is_writable, Callback<bool> done);
  // The machine is used by SSH: restarts its autosleep time.
  void touch(base::Uuid id, Callback<bool> done);

  base::Result<schemas::Machine> machine(const std::string& tenant, const base::Uuid& id);  // kNotFound
  // The machine with this name. If there is none, one that is being destroyed, whose name is free; nullopt:
  // none.
  base::Result<std::optional<base::Uuid>> named(const std::string& tenant, const std::string& name);
  // Newest first, before this id.
  base::Result<std::vector<schemas::Machine>> list(const std::string& tenant, int limit,
                                                   std::optional<base::Uuid> before);
  // For runners: a machine of any tenant. kNotFound.
  base::Result<schemas::Machine> any(const base::Uuid& id);
  // For runners: the number of executions that run on it now.
  base::Result<int> running_on(const base::Uuid& id);
  // True if the worker that listens at its SSH endpoint is still registered.
  base::Result<bool> has_live_endpoint(const schemas::Machine& machine);

 private:
  Store& store_;
};

// Maintenance of machines, like JobMaintenance: bounded steps that any process may run at any time. `done`
// gets the number of changed rows; at the limit, call again.
class MachineMaintenance {
 public:
  explicit MachineMaintenance(Store& store) : store_(store) {}

  // Machines that are awake, unused for their autosleep time and at least 15 s, with no running or queued
  // execution and no waiting SSH session → desired state sleeping. Each starts an operation with a new id
  // from `new_act_ids`.
  void put_to_sleep(std::vector<schemas::JobId> new_act_ids, Callback<int> done);
  // Machines that are not in their desired state and have no running operation → start the next operation.
  // Machines that are awake and whose sshd ended with its worker while sessions are ready → start sshd again.
  void begin_acts(std::vector<schemas::JobId> new_act_ids, Callback<int> done);
  // Executions that still wait for a machine that is awake, failed or destroyed. One transaction settles a
  // few hundred.
  void resolve_waiting(int limit, Callback<int> done);
  // Deletes expired replies of calls; deletes sessions and their serials a week after their certificate's
  // end.
  void drop_replies(int limit, Callback<int> done);
  void drop_sessions(int limit, Callback<int> done);
  // The time when a machine may be put to sleep, an operation is to be started, or something that waits is to
  // be settled. Reads.
  base::Result<std::optional<base::WallTime>> next_due();

 private:
  Store& store_;
};

}  // namespace millrace::storage
