#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/machine.h"
#include "schemas/machine_request.h"
#include "storage/machine_calls.h"
#include "storage/store.h"
#include "storage/writer.h"

namespace millrace::storage {

// An act that no worker has begun by then has failed.
inline constexpr std::chrono::hours kActDeadline{1};

enum class MachineWish : std::uint8_t { kRun, kSleep, kReboot, kForcedReboot, kDestroy };

// The machines of this store, bound to a tenant. Moves never block (`done` on the announce thread after the
// commit); reads block: pool and slot threads. A machine is shown until it is destroyed; its row stays for
// ever, so that its number, and thus its uid, is never given again.
//
// An act of a machine (schemas/machine_lifecycle.h) is a job of kind machine, inserted in the transaction of
// the wish; at most one is under way, and the end of one inserts the next. Whatever end such a job comes to,
// its last transaction also moves the machine's phase and settles what waits for it: executions are queued,
// or fail with `machine_wake_failed` or `machine_not_routable`; so do SSH sessions that wait.
class Machines {
 public:
  using Reply = Compose<schemas::Machine>;

  explicit Machines(Store& store) : store_(store) {}

  // A new row in phase accepted, and its first act. Its `number` is the next free one, its times are the
  // group's. kInvalidState: its id exists.
  void create(schemas::Machine machine, MachineCall call, Reply reply, Done<Answer> done);
  // The machine `local` of the tenant, made with the defaults of schemas::Machine if the store has never made
  // one. kNotFound: it did, and the machine was destroyed since.
  void ensure_local(std::string tenant, base::Uuid fresh, schemas::JobId act, Done<schemas::Machine> done);
  // The machines of the configuration file, by id: new ones are made, others become as the file says. One
  // that the file has no longer stays and belongs to the API from then on. `acts`: one fresh id for each.
  // kInvalidState names one whose id is another tenant's or driver's, or that was destroyed.
  void take_from_file(std::vector<schemas::Machine> machines, std::vector<schemas::JobId> acts,
                      Done<int> done);

  // kNotFound; kInvalidState: it is being destroyed, belongs to the file, or would shrink below what its disk
  // image has (storage_gib only grows).
  void change(base::Uuid id, schemas::MachineChange change, MachineCall call, Reply reply, Done<Answer> done);
  // kRun, kSleep: it is so already: unchanged. kSleep, kReboot: kInvalidState while executions run on it or
  // are queued for it. kForcedReboot and kDestroy cancel them first. kInvalidState: kDestroy of one of the
  // file, all but kDestroy of one that is being destroyed, a reboot while its sshd is being opened. One that
  // is not awake, or on its way to be, is woken by a reboot. Its rows are audited with the call's actor.
  void want(base::Uuid id, MachineWish wish, MachineCall call, Reply reply, Done<Answer> done);
  // Somebody uses it by SSH: it does not fall asleep for its autosleep.
  void touch(base::Uuid id, Done<bool> done);

  base::Result<schemas::Machine> machine(const std::string& tenant, const base::Uuid& id);  // kNotFound
  // Newest first, before this id.
  base::Result<std::vector<schemas::Machine>> list(const std::string& tenant, int limit,
                                                   std::optional<base::Uuid> before);
  // For runners: whoever owns it. kNotFound.
  base::Result<schemas::Machine> any(const base::Uuid& id);
  // For runners: how many executions run on it now.
  base::Result<int> running_on(const base::Uuid& id);
  // True if the worker that listens at its SSH endpoint is still there.
  base::Result<bool> endpoint_lives(const schemas::Machine& machine);

 private:
  Store& store_;
};

// Housekeeping of machines, as JobUpkeep: bounded steps that any process may run at any time; `done` gets how
// many rows changed (at the limit: call again).
class MachineUpkeep {
 public:
  explicit MachineUpkeep(Store& store) : store_(store) {}

  // Awake, unused for its autosleep and 15 s at least, nothing running or queued on it and no SSH session
  // waiting for it → desired sleeping, with an act of a fresh id from `fresh_acts` each.
  void put_to_sleep(std::vector<schemas::JobId> fresh_acts, Done<int> done);
  // Machines that are not where they are wanted, without an act under way → the next act. Those that are
  // awake, and whose sshd went with its worker while sessions are ready → it is opened again.
  void begin_acts(std::vector<schemas::JobId> fresh_acts, Done<int> done);
  // Executions that still wait for a machine that is awake, failed or destroyed: one transaction settles a
  // few hundred.
  void settle_waiting(int limit, Done<int> done);
  // Replies of calls past their age; sessions and their serials a week after their certificate's end.
  void drop_replies(int limit, Done<int> done);
  void drop_sessions(int limit, Done<int> done);
  // When a machine may fall asleep, an act is to be begun or something that waits is to be settled. Reads.
  base::Result<std::optional<base::WallTime>> next_due();

 private:
  Store& store_;
};

}  // namespace millrace::storage
