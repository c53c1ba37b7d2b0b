#include "storage/machine_rows.h"

#include <array>
#include <utility>

#include "storage/readers.h"
#include "storage/sqlite.h"

namespace millrace::storage {
namespace {

using schemas::Machine;

constexpr std::size_t kRowBytes = 512;

base::Error no_such_machine() { return base::error(base::Code::kNotFound, "no such machine"); }

base::Uuid last_id() {
  std::array<std::uint8_t, 16> bytes{};
  bytes.fill(0xFF);
  return base::Uuid(bytes);
}

// From the columns that both reads select, in their order.
Machine machine_at(const Statement& row) {
  Machine m;
  m.id = row.uuid(0);
  m.tenant = row.text(1);
  m.name = row.text(2);
  m.driver = static_cast<schemas::MachineDriver>(row.integer(3));
  m.vcpu = row.real(4);
  m.memory_mib = static_cast<int>(row.integer(5));
  m.storage_gib = static_cast<int>(row.integer(6));
  m.autosleep_seconds = row.integer(7);
  m.desired = static_cast<schemas::MachineState>(row.integer(8));
  m.number = row.integer(9);
  m.created_at = base::wall_from(row.integer(10));
  return m;
}

// One that is not destroyed.
std::optional<Machine> find_machine(Db& db, const std::string& tenant, const base::Uuid& id) {
  auto s = db.prepare(
      "SELECT id, tenant, name, driver, vcpu, memory_mib, storage_gib, autosleep_seconds, desired, number, "
      "created_at FROM machines WHERE id = ?1 AND tenant = ?2 AND desired < 2");
  if (!s.bind(id, tenant).step()) return std::nullopt;
  return machine_at(s);
}

std::int64_t next_number(Db& db) {
  auto s = db.prepare("SELECT coalesce(max(number), 0) + 1 FROM machines");
  s.step();
  return s.integer(0);
}

base::Result<Machine> insert(Tx& tx, Machine m, bool is_local) {
  m.number = next_number(tx.db);
  m.created_at = base::wall_from(base::millis(tx.now));
  auto s = tx.db.prepare(
      "INSERT INTO machines (id, tenant, name, driver, vcpu, memory_mib, storage_gib, autosleep_seconds, "
      "desired, number, is_local, created_at, changed_at) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12) ON CONFLICT (id) DO NOTHING");
  s.bind(m.id, m.tenant, m.name, m.driver, m.vcpu, m.memory_mib, m.storage_gib, m.autosleep_seconds,
         m.desired, m.number, is_local, base::millis(tx.now))
      .run();
  if (s.changes() == 0) return base::error(base::Code::kInvalidState, "a machine with this id exists");
  return m;
}

base::Result<Machine> local_in(Tx& tx, const std::string& tenant, const base::Uuid& fresh) {
  std::optional<base::Uuid> made;
  {
    auto s = tx.db.prepare("SELECT id FROM machines WHERE tenant = ?1 AND is_local = 1");
    if (s.bind(tenant).step()) made = s.uuid(0);
  }
  if (made) {
    auto local = find_machine(tx.db, tenant, *made);
    if (!local) return base::error(base::Code::kNotFound, "the machine 'local' was destroyed");
    return std::move(*local);
  }
  Machine local;
  local.id = fresh;
  local.tenant = tenant;
  local.name = "local";
  return insert(tx, std::move(local), true);
}

std::vector<Machine> listed(Db& db, const std::string& tenant, int limit, const base::Uuid& before) {
  std::vector<Machine> machines;
  auto s = db.prepare(
      "SELECT id, tenant, name, driver, vcpu, memory_mib, storage_gib, autosleep_seconds, desired, number, "
      "created_at FROM machines WHERE tenant = ?1 AND desired < 2 AND id < ?2 ORDER BY id DESC LIMIT ?3");
  s.bind(tenant, before, limit);
  while (s.step()) machines.push_back(machine_at(s));
  return machines;
}

}  // namespace

void Machines::create(Machine machine, Done<Machine> done) {
  submit_move<Machine>(
      store_.writer(), Writer::Priority::kNormal, kRowBytes,
      [machine = std::move(machine)](Tx& tx) { return insert(tx, machine, false); }, std::move(done));
}

void Machines::ensure_local(std::string tenant, base::Uuid fresh, Done<Machine> done) {
  submit_move<Machine>(
      store_.writer(), Writer::Priority::kNormal, kRowBytes,
      [tenant = std::move(tenant), fresh](Tx& tx) { return local_in(tx, tenant, fresh); }, std::move(done));
}

base::Result<Machine> Machines::machine(const std::string& tenant, const base::Uuid& id) {
  auto found = read(store_.readers(), [&](Db& db) { return find_machine(db, tenant, id); });
  if (!found) return found.error();
  if (!*found) return no_such_machine();
  return std::move(**found);
}

base::Result<std::vector<Machine>> Machines::list(const std::string& tenant, int limit,
                                                  std::optional<base::Uuid> before) {
  if (limit <= 0) return std::vector<Machine>();
  return read(store_.readers(),
              [&](Db& db) { return listed(db, tenant, limit, before.value_or(last_id())); });
}

}  // namespace millrace::storage
