#include <algorithm>
#include <utility>

#include "storage/machine_audit.h"
#include "storage/machine_names.h"
#include "storage/machine_rows.h"
#include "storage/machine_table.h"
#include "storage/upkeep_steps.h"

// The machines of the configuration file.
namespace millrace::storage {
namespace {

using base::Code;
using schemas::Machine;
using schemas::MachineSource;

struct Listed {
  Machine machine;
  schemas::JobId act;
};

base::Error cannot_take(const Machine& machine, const std::string& why) {
  return base::error(Code::kInvalidState, "machine " + schemas::machine_id(machine.id) + " (" + machine.name +
                                              ") of the configuration file " + why);
}

// Why the file's machine cannot become what its row is; absent: it can.
std::optional<base::Error> conflict(const Machine& wanted, const Machine& stored) {
  if (stored.tenant != wanted.tenant) return cannot_take(wanted, "has the id of another tenant's machine");
  if (stored.desired == schemas::MachineState::kDestroyed) {
    return cannot_take(wanted, "has the id of one that was destroyed; give it a new one");
  }
  if (stored.driver != wanted.driver) {
    return cannot_take(wanted, "has driver " + std::string(schemas::name(wanted.driver)) +
                                   ", and the store has one of driver " +
                                   std::string(schemas::name(stored.driver)) + "; give it a new id");
  }
  if (wanted.storage_gib < stored.storage_gib) {
    return cannot_take(wanted, "has a smaller storage_gib than its disk, which only grows: " +
                                   std::to_string(stored.storage_gib));
  }
  return std::nullopt;
}

bool names(const std::vector<Listed>& listed, const base::Uuid& id) {
  return std::any_of(listed.begin(), listed.end(), [&](const Listed& each) { return each.machine.id == id; });
}

// The store's machine that keeps the name of one of the file, absent: there is none. Those of the file change
// theirs with it, and one that it has no longer gives its own up.
std::optional<base::Error> name_conflict(Db& db, const Machine& wanted, const std::vector<Listed>& listed) {
  const auto other = machine_named(db, wanted.tenant, wanted.name, wanted.id);
  if (!other || names(listed, *other)) return std::nullopt;
  if (find_machine_row(db, *other)->machine.source == MachineSource::kFile) return std::nullopt;
  return cannot_take(wanted,
                     "has the name of " + schemas::machine_id(*other) + ": give it another one, or that id");
}

// What the file says; where the machine is, and is wanted, stays.
Machine merged(const Machine& stored, const Machine& wanted) {
  Machine out = stored;
  out.name = wanted.name;
  out.source = MachineSource::kFile;
  out.vcpu = wanted.vcpu;
  out.memory_mib = wanted.memory_mib;
  out.storage_gib = wanted.storage_gib;
  out.autosleep_seconds = wanted.autosleep_seconds;
  out.settings = wanted.settings;
  return out;
}

bool is_same(const Machine& a, const Machine& b) {
  return a.name == b.name && a.source == b.source && a.vcpu == b.vcpu && a.memory_mib == b.memory_mib &&
         a.storage_gib == b.storage_gib && a.autosleep_seconds == b.autosleep_seconds &&
         schemas::to_json(a.settings) == schemas::to_json(b.settings);
}

void make(Tx& tx, const Store::Options& options, const Listed& listed) {
  MachineRow row{.machine = listed.machine};
  row.machine.source = MachineSource::kFile;
  row.machine.phase = schemas::MachinePhase::kAccepted;
  insert_machine(tx, row);
  begin_first_act(tx, options, row, listed.act);
  audit_machine(tx, row.machine, kGatewayActor, "machine.create");
}

// True: it changed.
bool take(Tx& tx, const Store::Options& options, const Listed& listed) {
  auto row = find_machine_row(tx.db, listed.machine.id);
  if (!row) {
    make(tx, options, listed);
    return true;
  }
  Machine now = merged(row->machine, listed.machine);
  if (is_same(now, row->machine)) return false;
  if (now.autosleep_seconds != row->machine.autosleep_seconds) row->used_at = base::millis(tx.now);
  row->machine = std::move(now);
  save_machine(tx, *row);
  audit_machine(tx, row->machine, kGatewayActor, "machine.change");
  return true;
}

// Those that the file has no longer become the API's, under another name where the file goes on using it.
int give_away(Tx& tx, const std::vector<Listed>& listed) {
  std::vector<base::Uuid> of_file;
  {
    auto s = tx.db.prepare("SELECT id FROM machines WHERE source = 1 AND phase <> 6");
    of_file = ids(s);
  }
  int given = 0;
  for (const base::Uuid& id : of_file) {
    if (names(listed, id)) continue;
    auto row = find_machine_row(tx.db, id);
    row->machine.source = MachineSource::kApi;
    if (machine_named(tx.db, row->machine.tenant, row->machine.name, id)) {
      row->machine.name = name_by_id(row->machine.name, id);
    }
    save_machine(tx, *row);
    audit_machine(tx, row->machine, kGatewayActor, "machine.change");
    ++given;
  }
  return given;
}

base::Result<int> take_in(Tx& tx, const Store::Options& options, const std::vector<Listed>& listed) {
  for (const Listed& each : listed) {
    if (auto taken = name_conflict(tx.db, each.machine, listed)) return std::move(*taken);
    const auto row = find_machine_row(tx.db, each.machine.id);
    if (!row) continue;
    if (auto refused = conflict(each.machine, row->machine)) return std::move(*refused);
  }
  int changed = 0;
  for (const Listed& each : listed) changed += take(tx, options, each) ? 1 : 0;
  return changed + give_away(tx, listed);
}

}  // namespace

void Machines::take_from_file(std::vector<Machine> machines, std::vector<schemas::JobId> acts,
                              Done<int> done) {
  std::vector<Listed> listed;
  listed.reserve(machines.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    listed.push_back({std::move(machines[i]), i < acts.size() ? acts[i] : schemas::JobId{}});
  }
  const Store::Options& options = store_.options();
  const std::size_t bytes = kMachineRowBytes * (listed.size() + 1);
  submit_move<int>(
      store_.writer(), Writer::Priority::kAsked, bytes,
      [listed = std::move(listed), &options](Tx& tx) { return take_in(tx, options, listed); },
      std::move(done));
}

}  // namespace millrace::storage
