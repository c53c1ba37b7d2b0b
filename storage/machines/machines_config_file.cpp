#include <algorithm>
#include <utility>

#include "storage/jobs/maintenance_steps.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/machines.h"
#include "storage/sql.h"
#include "storage/workers/processes.h"

// Machines of the configuration file.
namespace millrace::storage {
namespace {

using base::Code;
using schemas::Machine;
using schemas::MachineSource;

struct ConfiguredMachine {
  Machine machine;
  schemas::JobId act;
};

base::Error config_error(const Machine& machine, const std::string& why) {
  return base::error(Code::kInvalidState, "machine " + schemas::machine_id(machine.id) + " (" + machine.name +
                                              ") of the configuration file " + why);
}

// The reason why the configured machine cannot replace the stored one; absent: it can.
std::optional<base::Error> conflict(const Machine& from_file, const Machine& stored) {
  if (stored.tenant != from_file.tenant)
    return config_error(from_file, "has the id of another tenant's machine");
  if (stored.desired == schemas::MachineState::kDestroyed) {
    return config_error(from_file, "has the id of a machine that was destroyed; give it a new id");
  }
  if (stored.driver != from_file.driver) {
    return config_error(from_file, "has driver " + std::string(schemas::name(from_file.driver)) +
                                       ", and the store has one of driver " +
                                       std::string(schemas::name(stored.driver)) + "; give it a new id");
  }
  if (from_file.storage_gib < stored.storage_gib) {
    return config_error(from_file, "has a smaller storage_gib than its disk, which only grows: " +
                                       std::to_string(stored.storage_gib));
  }
  return std::nullopt;
}

bool names(const std::vector<ConfiguredMachine>& configured, const base::Uuid& id) {
  return std::any_of(configured.begin(), configured.end(),
                     [&](const ConfiguredMachine& each) { return each.machine.id == id; });
}

// An error if a stored machine keeps the name of a configured one; absent: none does. Stored machines of the
// file change their names together with the file, and a machine that is no longer in the file gives up its
// name.
std::optional<base::Error> name_conflict(Db& db, const Machine& from_file,
                                         const std::vector<ConfiguredMachine>& configured) {
  const auto other = find_by_name(db, from_file.tenant, from_file.name, from_file.id);
  if (!other || names(configured, *other)) return std::nullopt;
  if (find_machine_row(db, *other)->machine.source == MachineSource::kFile) return std::nullopt;
  return config_error(
      from_file, "has the name of " + schemas::machine_id(*other) + "; give it another name, or that id");
}

// The stored machine with the settings of the file; its phase and desired state are unchanged.
Machine merged(const Machine& stored, const Machine& from_file) {
  Machine out = stored;
  out.name = from_file.name;
  out.source = MachineSource::kFile;
  out.vcpu = from_file.vcpu;
  out.memory_mib = from_file.memory_mib;
  out.storage_gib = from_file.storage_gib;
  out.autosleep_seconds = from_file.autosleep_seconds;
  out.settings = from_file.settings;
  return out;
}

bool is_same(const Machine& a, const Machine& b) {
  return a.name == b.name && a.source == b.source && a.vcpu == b.vcpu && a.memory_mib == b.memory_mib &&
         a.storage_gib == b.storage_gib && a.autosleep_seconds == b.autosleep_seconds &&
         schemas::to_json(a.settings) == schemas::to_json(b.settings);
}

void make(Tx& tx, const Store::Options& options, const ConfiguredMachine& configured) {
  MachineRow row{.machine = configured.machine};
  row.machine.source = MachineSource::kFile;
  row.machine.phase = schemas::MachinePhase::kAccepted;
  if (auto placed = place_machine(tx, options, row.machine); !placed)
    throw DbError{.message = placed.error().message};
  insert_machine(tx, row);
  begin_first_act(tx, options, row, configured.act);
  audit_machine(tx, row.machine, kGatewayActor, "machine.create");
}

// True: the machine changed.
bool take(Tx& tx, const Store::Options& options, const ConfiguredMachine& configured) {
  auto row = find_machine_row(tx.db, configured.machine.id);
  if (!row) {
    make(tx, options, configured);
    return true;
  }
  Machine now = merged(row->machine, configured.machine);
  if (is_same(now, row->machine)) return false;
  if (now.autosleep_seconds != row->machine.autosleep_seconds) row->used_at = base::millis(tx.steady());
  row->machine = std::move(now);
  save_machine(tx, *row);
  audit_machine(tx, row->machine, kGatewayActor, "machine.change");
  return true;
}

// Machines that are no longer in the file become the API's. They are renamed if the file still uses their
// name.
int release_to_api(Tx& tx, const std::vector<ConfiguredMachine>& configured) {
  std::vector<base::Uuid> of_file;
  {
    auto s = tx.db.prepare(
        "SELECT id FROM machines WHERE source = {source_file} AND phase <> {phase_destroyed}"_sql);
    of_file = ids(s);
  }
  int given = 0;
  for (const base::Uuid& id : of_file) {
    if (names(configured, id)) continue;
    auto row = find_machine_row(tx.db, id);
    row->machine.source = MachineSource::kApi;
    if (find_by_name(tx.db, row->machine.tenant, row->machine.name, id)) {
      row->machine.name = name_by_id(row->machine.name, id);
    }
    save_machine(tx, *row);
    audit_machine(tx, row->machine, kGatewayActor, "machine.change");
    ++given;
  }
  return given;
}

base::Result<int> take_in(Tx& tx, const Store::Options& options,
                          const std::vector<ConfiguredMachine>& configured) {
  for (const ConfiguredMachine& each : configured) {
    if (auto taken = name_conflict(tx.db, each.machine, configured)) return std::move(*taken);
    const auto row = find_machine_row(tx.db, each.machine.id);
    if (!row) continue;
    if (auto refused = conflict(each.machine, row->machine)) return std::move(*refused);
  }
  int changed = 0;
  for (const ConfiguredMachine& each : configured) changed += take(tx, options, each) ? 1 : 0;
  return changed + release_to_api(tx, configured);
}

}  // namespace

void Machines::apply_config_file(std::vector<Machine> machines, std::vector<schemas::JobId> acts,
                                 Callback<int> done) {
  std::vector<ConfiguredMachine> configured;
  configured.reserve(machines.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    configured.push_back({std::move(machines[i]), i < acts.size() ? acts[i] : schemas::JobId{}});
  }
  const Store::Options& options = store_.options();
  const std::size_t bytes = kMachineRowBytes * (configured.size() + 1);
  submit_write<int>(
      store_.writer(), Writer::Priority::kInteractive, bytes,
      [configured = std::move(configured), &options](Tx& tx) { return take_in(tx, options, configured); },
      std::move(done));
}

}  // namespace millrace::storage
