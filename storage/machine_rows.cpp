#include "storage/machine_rows.h"

#include <utility>

#include "schemas/json_text.h"
#include "storage/audit_rows.h"
#include "storage/call_replies.h"
#include "storage/last_id.h"
#include "storage/machine_audit.h"
#include "storage/machine_names.h"
#include "storage/machine_table.h"
#include "storage/readers.h"
#include "storage/upkeep_steps.h"

namespace millrace::storage {
namespace {

using schemas::Machine;

struct Creation {
  Machine machine;
  MachineCall call;
  Machines::Reply reply;
};

base::Result<Answer> create_in(Tx& tx, const Store::Options& options, const Creation& order) {
  if (auto before = reply_before(tx, order.call)) return *before;
  MachineRow row{.machine = order.machine};
  const Machine& m = row.machine;
  if (const auto taken = machine_named(tx.db, m.tenant, m.name, m.id)) return name_is_taken(m.name, *taken);
  if (!insert_machine(tx, row)) {
    return base::error(base::Code::kInvalidState, "a machine with this id exists");
  }
  begin_first_act(tx, options, row, order.call.act);
  audit_machine(tx, row.machine, order.call.actor, "machine.create");
  return keep_reply(tx, order.call, order.reply(row.machine));
}

base::Result<Machine> local_in(Tx& tx, const Store::Options& options, const Machine& fresh,
                               const schemas::JobId& act) {
  std::optional<base::Uuid> made;
  {
    auto s = tx.db.prepare("SELECT id FROM machines WHERE tenant = ?1 AND is_local = 1");
    if (s.bind(fresh.tenant).step()) made = s.uuid(0);
  }
  if (made) {
    auto local = find_machine(tx.db, fresh.tenant, *made);
    if (!local) return base::error(base::Code::kNotFound, "the machine 'local' was destroyed");
    return std::move(*local);
  }
  if (const auto other = machine_named(tx.db, fresh.tenant, fresh.name, fresh.id)) {
    return *find_machine(tx.db, fresh.tenant, *other);
  }
  MachineRow row{.machine = fresh};
  if (!insert_machine(tx, row))
    return base::error(base::Code::kInvalidState, "a machine with this id exists");
  begin_first_act(tx, options, row, act);
  audit_machine(tx, row.machine, kGatewayActor, "machine.create");
  return std::move(row.machine);
}

struct Alteration {
  base::Uuid id;
  schemas::MachineChange change;
  MachineCall call;
  Machines::Reply reply;
};

std::optional<base::Error> refusal(const Machine& machine, const schemas::MachineChange& change) {
  using base::Code;
  if (machine.desired == schemas::MachineState::kDestroyed) return being_destroyed();
  if (machine.source == schemas::MachineSource::kFile) {
    return base::error(Code::kInvalidState,
                       "the machine belongs to the configuration file; its operator changes it there");
  }
  if (change.storage_gib && *change.storage_gib < machine.storage_gib) {
    return base::error(Code::kInvalidState,
                       "storage_gib only grows: it is " + std::to_string(machine.storage_gib) + " now");
  }
  return std::nullopt;
}

base::Result<Answer> change_in(Tx& tx, const Alteration& order) {
  if (auto before = reply_before(tx, order.call)) return *before;
  auto row = find_machine_of(tx.db, order.call.tenant, order.id);
  if (!row) return no_such_machine();
  if (auto refused = refusal(row->machine, order.change)) return std::move(*refused);
  const std::string& name = order.change.name.value_or(row->machine.name);
  const auto taken = machine_named(tx.db, row->machine.tenant, name, order.id);
  if (taken && name != row->machine.name) return name_is_taken(name, *taken);
  schemas::apply(order.change, row->machine);
  if (order.change.autosleep_seconds) row->used_at = base::millis(tx.now);
  save_machine(tx, *row);
  audit_machine(tx, row->machine, order.call.actor, "machine.change");
  return keep_reply(tx, order.call, order.reply(row->machine));
}

std::vector<Machine> listed(Db& db, const std::string& tenant, int limit, const base::Uuid& before) {
  std::vector<base::Uuid> found;
  {
    auto s = db.prepare(
        "SELECT id FROM machines WHERE tenant = ?1 AND phase <> 6 AND id < ?2 ORDER BY id DESC LIMIT ?3");
    s.bind(tenant, before, limit);
    found = ids(s);
  }
  std::vector<Machine> machines;
  for (const base::Uuid& id : found) {
    if (auto machine = find_machine(db, tenant, id)) machines.push_back(std::move(*machine));
  }
  return machines;
}

int running_in(Db& db, const base::Uuid& id) {
  const std::string lane = schemas::machine_id(id);
  auto s = db.prepare(
      "SELECT count(*) FROM jobs WHERE lane_key = ?1 AND kind = ?2 AND status = 1 AND status < 3 AND "
      "lane_key "
      "IS NOT NULL");
  s.bind(lane, schemas::Kind::kExec).step();
  return static_cast<int>(s.integer(0));
}

}  // namespace

void audit_machine(Tx& tx, const Machine& machine, std::string_view actor, std::string_view act) {
  append_audit(tx, {.tenant = machine.tenant,
                    .actor = std::string(actor),
                    .act = std::string(act),
                    .target = schemas::machine_id(machine.id),
                    .data = schemas::JsonObject().number("revision", machine.revision).finish()});
}

void Machines::create(Machine machine, MachineCall call, Reply reply, Done<Answer> done) {
  const Store::Options& options = store_.options();
  submit_move<Answer>(
      store_.writer(), Writer::Priority::kNormal, kMachineRowBytes,
      [order = Creation{std::move(machine), std::move(call), std::move(reply)}, &options](Tx& tx) {
        return create_in(tx, options, order);
      },
      std::move(done));
}

void Machines::ensure_local(std::string tenant, base::Uuid fresh, schemas::JobId act, Done<Machine> done) {
  Machine local;
  local.id = fresh;
  local.tenant = std::move(tenant);
  local.name = "local";
  local.source = schemas::MachineSource::kLocal;
  const Store::Options& options = store_.options();
  submit_move<Machine>(
      store_.writer(), Writer::Priority::kAsked, kMachineRowBytes,
      [local = std::move(local), act, &options](Tx& tx) { return local_in(tx, options, local, act); },
      std::move(done));
}

void Machines::change(base::Uuid id, schemas::MachineChange change, MachineCall call, Reply reply,
                      Done<Answer> done) {
  submit_move<Answer>(
      store_.writer(), Writer::Priority::kNormal, kMachineRowBytes,
      [order = Alteration{id, std::move(change), std::move(call), std::move(reply)}](Tx& tx) {
        return change_in(tx, order);
      },
      std::move(done));
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

base::Result<Machine> Machines::any(const base::Uuid& id) { return machine({}, id); }

base::Result<int> Machines::running_on(const base::Uuid& id) {
  return read(store_.readers(), [&](Db& db) { return running_in(db, id); });
}

base::Result<bool> Machines::endpoint_lives(const Machine& machine) {
  return read(store_.readers(), [&](Db& db) { return storage::endpoint_lives(db, machine); });
}

}  // namespace millrace::storage
