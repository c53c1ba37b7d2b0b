#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/machines/machine.h"
#include "storage/jobs/job_claims.h"
#include "storage/store.h"

namespace millrace::storage {

// A process counts as alive for this long after its last report.
inline constexpr std::chrono::milliseconds kProcessTimeout{20'000};
// A host does the maintenance of the store for this long after its last report.
inline constexpr std::chrono::milliseconds kMaintenanceLease{8'000};

// A process of a store that several hosts share.
struct Process {
  base::Uuid id;        // of this run
  std::string host;     // Store::Options::host
  base::Uuid data_dir;  // DATA/host-id: other processes of the host have the same
  std::string version;
  bool serves_api = false, calls_models = false;
  bool runs_machines = false;  // the machines of this host
};

// What a process learns from its report.
struct Installation {
  int api_processes = 1, model_processes = 1;  // alive, including the caller if it is one
  bool maintains = false;                      // the caller's host does the maintenance of the store
};

// A row of `processes`.
struct ProcessView {
  Process process;
  base::WallTime started_at{}, seen_at{};
  bool is_alive = false;
  bool maintains = false;  // its host does the maintenance of the store
  int machines = 0;        // placed on its host; the same for all processes of a host
};

// The processes of a store that several hosts share (store.url): each reports every few seconds. On one host,
// lock files do the same (WorkerLock, MaintenanceLeader, HostLock).
class Processes {
 public:
  explicit Processes(Store& store) : store_(store) {}

  // Adds or renews the caller's row; takes or renews the lease of its host on maintenance if it is free;
  // places machines that have no host yet, if the caller runs machines; if it maintains the store, removes
  // rows of processes that have been silent for a day. kInvalidState: a living process with another data
  // directory has the same host name.
  void report(Process own, Callback<Installation> done);
  // The process ends: removes its row, and the lease of its host if it was the last one there. The row of one
  // that ran machines stays as that of a dead process: its host may return and still has their disks.
  void leave(base::Uuid id, Callback<bool> done);
  // Machines with a disk, of a store that had one host before, get this host, if `has_disk` says that their
  // disk is here. Blocks.
  base::Status adopt_machines(const std::string& host,
                              const std::function<bool(const base::Uuid&)>& has_disk);
  // Writes the row of a worker that starts, before it releases the leases of an earlier one of its name.
  // kInvalidState: a living worker on another host has this name. Blocks.
  base::Status add_worker(const WorkerReport& worker);
  // By host, then age. Blocks.
  base::Result<std::vector<ProcessView>> list();

 private:
  Store& store_;
};

// Inside storage: sets the host of a new machine. One of driver ssh runs on any host, another one where its
// `host` says, or, without one, on the host with the fewest machines. It stays absent if the store has one
// host, and if no host runs machines now: the first one that does takes it. kInvalidField: its `host` does
// not run machines; the message names the hosts that do.
base::Status place_machine(Tx& tx, const Store::Options& options, schemas::Machine& machine);
// The job of a machine runs where the machine does. Nothing if that is not known yet.
void place_job(Db& db, const base::Uuid& job, const std::optional<std::string>& host);

}  // namespace millrace::storage
