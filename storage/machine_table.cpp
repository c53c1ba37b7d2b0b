#include "storage/machine_table.h"

#include <utility>

#include <sqlite3.h>

namespace millrace::storage {
namespace {

using schemas::Machine;

std::optional<schemas::SshEndpoint> endpoint_at(const Statement& row, int column) {
  const auto host = row.optional_text(column);
  const auto owner = row.optional_uuid(column + 2);
  if (!host || !owner) return std::nullopt;
  return schemas::SshEndpoint{*host, static_cast<int>(row.integer(column + 1)), *owner};
}

void read_size(const Statement& row, Machine& m) {
  m.tenant = row.text(0);
  m.name = row.text(1);
  m.driver = static_cast<schemas::MachineDriver>(row.integer(2));
  m.source = static_cast<schemas::MachineSource>(row.integer(3));
  m.vcpu = row.real(4);
  m.memory_mib = static_cast<int>(row.integer(5));
  m.storage_gib = static_cast<int>(row.integer(6));
  m.autosleep_seconds = row.integer(7);
}

void read_life(const Statement& row, Machine& m) {
  m.desired = static_cast<schemas::MachineState>(row.integer(8));
  m.phase = static_cast<schemas::MachinePhase>(row.integer(9));
  m.number = row.integer(10);
  m.revision = row.integer(11);
  m.facts = {row.text(13), row.text(14)};
  m.ssh = endpoint_at(row, 15);
  m.last_error = row.text(18);
  m.created_at = base::wall_from(row.integer(19));
  m.changed_at = base::wall_from(row.integer(20));
  m.progressed_at = base::wall_from(row.integer(21));
}

}  // namespace

base::Error no_such_machine() { return base::error(base::Code::kNotFound, "no such machine"); }

base::Error being_destroyed() {
  return base::error(base::Code::kInvalidState, "the machine is being destroyed");
}

std::optional<MachineRow> find_machine_row(Db& db, const base::Uuid& id) {
  auto s = db.prepare(
      "SELECT tenant, name, driver, source, vcpu, memory_mib, storage_gib, autosleep_seconds, desired, "
      "phase, "
      "number, revision, settings, limits, disk, ssh_host, ssh_port, ssh_owner, last_error, created_at, "
      "changed_at, progressed_at, act, used_at, error_code FROM machines WHERE id = ?1");
  if (!s.bind(id).step()) return std::nullopt;
  MachineRow row;
  row.machine.id = id;
  read_size(s, row.machine);
  read_life(s, row.machine);
  auto settings = schemas::machine_settings_from_json(s.text(12));
  if (!settings) throw SqliteError{SQLITE_MISMATCH, settings.error().message};
  row.machine.settings = std::move(*settings);
  row.act = s.optional_uuid(22);
  row.used_at = s.integer(23);
  if (!row.machine.last_error.empty()) row.error_code = base::code_named(s.text(24));
  return row;
}

std::optional<MachineRow> find_machine_of(Db& db, const std::string& tenant, const base::Uuid& id) {
  auto row = find_machine_row(db, id);
  if (!row || row->machine.phase == schemas::MachinePhase::kDestroyed) return std::nullopt;
  if (!tenant.empty() && row->machine.tenant != tenant) return std::nullopt;
  return row;
}

std::optional<Machine> find_machine(Db& db, const std::string& tenant, const base::Uuid& id) {
  auto row = find_machine_of(db, tenant, id);
  if (!row) return std::nullopt;
  return std::move(row->machine);
}

bool insert_machine(Tx& tx, MachineRow& row) {
  Machine& m = row.machine;
  {
    auto next = tx.db.prepare("SELECT coalesce(max(number), 0) + 1 FROM machines");
    next.step();
    m.number = next.integer(0);
  }
  const std::int64_t now = base::millis(tx.now);
  auto s = tx.db.prepare(
      "INSERT INTO machines (id, tenant, name, driver, vcpu, memory_mib, storage_gib, autosleep_seconds, "
      "desired, number, is_local, created_at, changed_at, source, phase, settings, progressed_at, used_at) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13, ?14, ?15, ?12, ?12) "
      "ON CONFLICT (id) DO NOTHING");
  s.bind(m.id, m.tenant, m.name, m.driver, m.vcpu, m.memory_mib, m.storage_gib, m.autosleep_seconds,
         m.desired, m.number, m.source == schemas::MachineSource::kLocal, now, m.source, m.phase)
      .bind(schemas::to_json(m.settings))
      .run();
  m.created_at = m.changed_at = m.progressed_at = base::wall_from(now);
  row.used_at = now;
  return s.changes() == 1;
}

void save_machine(Tx& tx, MachineRow& row) {
  Machine& m = row.machine;
  const std::string settings = schemas::to_json(m.settings);
  const schemas::SshEndpoint none;
  const schemas::SshEndpoint& ssh = m.ssh ? *m.ssh : none;
  auto s = tx.db.prepare(
      "UPDATE machines SET name = ?2, vcpu = ?3, memory_mib = ?4, storage_gib = ?5, autosleep_seconds = ?6, "
      "desired = ?7, source = ?8, phase = ?9, act = ?10, settings = ?11, limits = ?12, disk = ?13, "
      "ssh_host = nullif(?14, ''), ssh_port = ?15, ssh_owner = ?16, last_error = ?17, used_at = ?18, "
      "error_code = CASE WHEN ?17 = '' THEN '' ELSE ?20 END, "
      "changed_at = CASE WHEN phase = ?9 THEN changed_at ELSE ?19 END, progressed_at = ?19, "
      "revision = revision + 1 WHERE id = ?1 AND phase <> 6 RETURNING revision, changed_at");
  s.bind(m.id, m.name, m.vcpu, m.memory_mib, m.storage_gib, m.autosleep_seconds, m.desired, m.source, m.phase,
         row.act, settings, m.facts.limits, m.facts.disk, ssh.host, ssh.port, ssh.owner, m.last_error,
         row.used_at, base::millis(tx.now), base::name(row.error_code));
  if (!s.step()) throw SqliteError{SQLITE_INTERNAL, "a machine that is destroyed does not change"};
  m.revision = s.integer(0);
  m.changed_at = base::wall_from(s.integer(1));
  m.progressed_at = base::wall_from(base::millis(tx.now));
}

bool endpoint_lives(Db& db, const Machine& machine) {
  if (!machine.ssh) return false;
  auto s = db.prepare("SELECT 1 FROM workers AS w WHERE w.incarnation = ?1");
  return s.bind(machine.ssh->owner).step();
}

}  // namespace millrace::storage
