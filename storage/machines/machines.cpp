#include "storage/machines/machines.h"

#include <memory>
#include <utility>

#include "schemas/json/json_text.h"
#include "storage/admin/audit.h"
#include "storage/db/columns.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/waiting_executions.h"
#include "storage/sql.h"
#include "storage/tenants/tenants.h"
#include "storage/workers/processes.h"
#include "storage/writer/readers.h"

namespace millrace::storage {
namespace {

using schemas::Machine;

struct CreateRequest {
  Machine machine;
  IdempotentCall call;
  Machines::Reply reply;
};

base::Result<CallReply> create_in(Tx& tx, const Store::Options& options, const CreateRequest& request) {
  if (auto before = find_stored_reply(tx, request.call)) return *before;
  MachineRow row{.machine = request.machine, .key_id = request.call.actor};
  const Machine& m = row.machine;
  if (const auto taken = find_by_name(tx.db, m.tenant, m.name, m.id))
    return name_in_use_error(m.name, *taken);
  if (auto refused = machine_quota_refusal(tx, {m.tenant, row.key_id}, m, nullptr))
    return std::move(*refused);
  if (auto placed = place_machine(tx, options, row.machine); !placed) return placed.error();
  if (!insert_machine(tx, row)) {
    return base::error(base::Code::kInvalidState, "a machine with this id exists");
  }
  begin_first_act(tx, options, row, request.call.act);
  audit_machine(tx, row.machine, request.call.actor, "machine.create");
  return store_reply(tx, request.call, request.reply(row.machine));
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
  if (const auto other = find_by_name(tx.db, fresh.tenant, fresh.name, fresh.id)) {
    return *find_machine(tx.db, fresh.tenant, *other);
  }
  MachineRow row{.machine = fresh};
  if (auto placed = place_machine(tx, options, row.machine); !placed) return placed.error();
  if (!insert_machine(tx, row))
    return base::error(base::Code::kInvalidState, "a machine with this id exists");
  begin_first_act(tx, options, row, act);
  audit_machine(tx, row.machine, kGatewayActor, "machine.create");
  return std::move(row.machine);
}

struct ChangeRequest {
  base::Uuid id;
  schemas::MachineChange change;
  IdempotentCall call;
  Machines::Reply reply;
};

std::optional<base::Error> refusal(const Machine& machine, const schemas::MachineChange& change) {
  using base::Code;
  if (machine.desired == schemas::MachineState::kDestroyed) return being_destroyed();
  if (machine.source == schemas::MachineSource::kFile) {
    return base::error(Code::kInvalidState,
                       "the machine belongs to the configuration file; its operator must change it there");
  }
  if (change.storage_gib && *change.storage_gib < machine.storage_gib) {
    return base::error(Code::kInvalidState,
                       "storage_gib only grows: it is " + std::to_string(machine.storage_gib) + " now");
  }
  if (change.host && change.host != machine.host) {
    return base::error(Code::kInvalidField, "host: a machine stays on the host of its disk", "host");
  }
  return std::nullopt;
}

base::Result<CallReply> change_in(Tx& tx, const ChangeRequest& request) {
  if (auto before = find_stored_reply(tx, request.call)) return *before;
  auto row = find_machine_of(tx.db, request.call.tenant, request.id);
  if (!row) return no_such_machine();
  if (auto refused = refusal(row->machine, request.change)) return std::move(*refused);
  const std::string& name = request.change.name.value_or(row->machine.name);
  const auto taken = find_by_name(tx.db, row->machine.tenant, name, request.id);
  if (taken && name != row->machine.name) return name_in_use_error(name, *taken);
  const Machine before = row->machine;
  schemas::apply(request.change, row->machine);
  const std::string key_id = machine_key(tx.db, request.id);
  if (auto refused = machine_quota_refusal(tx, {before.tenant, key_id}, row->machine, &before))
    return std::move(*refused);
  if (request.change.autosleep_seconds) row->used_at = base::millis(tx.steady());
  save_machine(tx, *row);
  audit_machine(tx, row->machine, request.call.actor, "machine.change");
  return store_reply(tx, request.call, request.reply(row->machine));
}

std::vector<Machine> listed(Db& db, const std::string& tenant, int limit, const base::Uuid& before) {
  std::vector<base::Uuid> found;
  {
    auto s = db.prepare(R"(
        SELECT id FROM machines
        WHERE tenant = ?1 AND phase <> {phase_destroyed} AND id < ?2
        ORDER BY id DESC LIMIT ?3)"_sql);
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
  auto s = db.prepare(R"(
      SELECT count(*) FROM jobs
      WHERE lane_key = ?1 AND kind = ?2 AND status = {running} AND status < {first_terminal}
          AND lane_key IS NOT NULL)"_sql);
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

void Machines::create(Machine machine, IdempotentCall call, Reply reply, Callback<CallReply> done) {
  const Store::Options& options = store_.options();
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kNormal, kMachineRowBytes,
      [request = CreateRequest{std::move(machine), std::move(call), std::move(reply)}, &options](Tx& tx) {
        return create_in(tx, options, request);
      },
      std::move(done));
}

void Machines::ensure_local(std::string tenant, base::Uuid fresh, schemas::JobId act,
                            Callback<Machine> done) {
  Machine local;
  local.id = fresh;
  local.tenant = std::move(tenant);
  local.name = "local";
  local.source = schemas::MachineSource::kLocal;
  const Store::Options& options = store_.options();
  submit_write<Machine>(
      store_.writer(), Writer::Priority::kInteractive, kMachineRowBytes,
      [local = std::move(local), act, &options](Tx& tx) { return local_in(tx, options, local, act); },
      std::move(done));
}

void Machines::change(base::Uuid id, schemas::MachineChange change, IdempotentCall call, Reply reply,
                      Callback<CallReply> done) {
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kNormal, kMachineRowBytes,
      [request = ChangeRequest{id, std::move(change), std::move(call), std::move(reply)}](Tx& tx) {
        return change_in(tx, request);
      },
      std::move(done));
}

base::Result<Machine> Machines::machine(const std::string& tenant, const base::Uuid& id) {
  auto found = read(store_.readers(), [&](Db& db) { return find_machine(db, tenant, id); });
  if (!found) return found.error();
  if (!*found) return no_such_machine();
  return std::move(**found);
}

base::Result<std::optional<base::Uuid>> Machines::named(const std::string& tenant, const std::string& name) {
  return read(store_.readers(), [&](Db& db) -> std::optional<base::Uuid> {
    auto s = db.prepare(R"(
        SELECT id FROM machines INDEXED BY machines_listed
        WHERE tenant = ?1 AND phase <> {phase_destroyed} AND name = ?2
        ORDER BY desired = {desired_destroyed}, id DESC LIMIT 1)"_sql);
    if (!s.bind(tenant, name).step()) return std::nullopt;
    return s.uuid(0);
  });
}

base::Result<std::vector<Machine>> Machines::list(const std::string& tenant, int limit,
                                                  std::optional<base::Uuid> before) {
  if (limit <= 0) return std::vector<Machine>();
  return read(store_.readers(), [&](Db& db) { return listed(db, tenant, limit, before.value_or(max_id())); });
}

base::Result<Machine> Machines::any(const base::Uuid& id) { return machine({}, id); }

base::Result<int> Machines::running_on(const base::Uuid& id) {
  return read(store_.readers(), [&](Db& db) { return running_in(db, id); });
}

base::Result<bool> Machines::has_live_endpoint(const Machine& machine) {
  return read(store_.readers(), [&](Db& db) { return storage::has_live_endpoint(db, machine); });
}

namespace {

using base::Code;
using schemas::Machine;
using schemas::MachineAct;
using schemas::MachineState;

struct MachineCommandRequest {
  base::Uuid id;
  MachineCommand command;
  IdempotentCall call;
  Machines::Reply reply;
};
using CommandRequestPtr = std::shared_ptr<const MachineCommandRequest>;

struct CommandOutcome {
  CallReply answer;
  bool not_yet = false;  // executions were cancelled, and more are left
};

bool cancels_first(MachineCommand command) {
  return command == MachineCommand::kForcedReboot || command == MachineCommand::kDestroy;
}

std::string_view audited_as(MachineCommand command) {
  switch (command) {
    case MachineCommand::kRun:
      return "machine.wake";
    case MachineCommand::kSleep:
      return "machine.sleep";
    case MachineCommand::kReboot:
    case MachineCommand::kForcedReboot:
      return "machine.reboot";
    case MachineCommand::kDestroy:
      return "machine.destroy";
  }
  return {};
}

std::optional<base::Error> destroyed_already(const Machine& machine, MachineCommand command) {
  if (machine.desired != MachineState::kDestroyed || command == MachineCommand::kDestroy) return std::nullopt;
  return being_destroyed();
}

std::optional<base::Error> in_use(Db& db, const Machine& machine, MachineCommand command) {
  if (command != MachineCommand::kSleep && command != MachineCommand::kReboot) return std::nullopt;
  if (!has_open_executions(db, machine.id)) return std::nullopt;
  return base::error(
      Code::kInvalidState,
      "executions run on the machine or are queued for it; cancel them, or wait for their end");
}

std::optional<base::Error> refusal(Db& db, const MachineRow& row, MachineCommand command) {
  const Machine& m = row.machine;
  if (auto gone = destroyed_already(m, command)) return gone;
  if (command == MachineCommand::kDestroy && m.source == schemas::MachineSource::kFile) {
    return base::error(Code::kInvalidState,
                       "the machine belongs to the configuration file; its operator must remove it there");
  }
  const bool reboots = command == MachineCommand::kReboot || command == MachineCommand::kForcedReboot;
  if (reboots && row.act && schemas::is_awake(m.desired, m.phase)) {
    return base::error(Code::kInvalidState, "the machine's sshd is being started; retry in a moment");
  }
  return in_use(db, m, command);
}

bool reboot(Tx& tx, const Store::Options& options, MachineRow& row, const schemas::JobId& fresh) {
  if (!schemas::is_awake(row.machine.desired, row.machine.phase)) {
    return set_desired_state(tx, options, row, MachineState::kRunning, fresh);
  }
  begin_act(tx, options, row, MachineAct::kReboot, fresh);
  return true;
}

// False: nothing had to be changed.
bool grant(Tx& tx, const Store::Options& options, MachineRow& row, const MachineCommandRequest& request) {
  row.used_at = base::millis(tx.steady());
  switch (request.command) {
    case MachineCommand::kRun:
      return set_desired_state(tx, options, row, MachineState::kRunning, request.call.act);
    case MachineCommand::kSleep:
      return set_desired_state(tx, options, row, MachineState::kSleeping, request.call.act);
    case MachineCommand::kReboot:
    case MachineCommand::kForcedReboot:
      return reboot(tx, options, row, request.call.act);
    case MachineCommand::kDestroy:
      return set_desired_state(tx, options, row, MachineState::kDestroyed, request.call.act);
  }
  return false;
}

base::Result<CommandOutcome> command_in(Tx& tx, const Store::Options& options,
                                        const MachineCommandRequest& request) {
  if (const auto before = find_stored_reply(tx, request.call)) {
    if (!*before) return before->error();
    return CommandOutcome{**before};
  }
  auto row = find_machine_of(tx.db, request.call.tenant, request.id);
  if (!row) return no_such_machine();
  if (auto refused = refusal(tx.db, *row, request.command)) return std::move(*refused);
  if (cancels_first(request.command) &&
      cancel_open_executions(tx, options, request.id, kSettledPerTransaction) == kSettledPerTransaction) {
    return CommandOutcome{.answer = {}, .not_yet = true};
  }
  if (grant(tx, options, *row, request)) {
    audit_machine(tx, row->machine, request.call.actor, audited_as(request.command));
  }
  return CommandOutcome{store_reply(tx, request.call, request.reply(row->machine))};
}

// Runs one transaction after the other until no open execution is left.
void submit(Store& store, const CommandRequestPtr& request, Callback<CallReply> done) {
  const Store::Options& options = store.options();
  submit_write<CommandOutcome>(
      store.writer(), Writer::Priority::kInteractive, kMachineRowBytes,
      [request, &options](Tx& tx) { return command_in(tx, options, *request); },
      [&store, request, done = std::move(done)](base::Result<CommandOutcome> outcome) {
        if (!outcome) return done(outcome.error());
        if (outcome->not_yet) return submit(store, request, done);
        done(std::move(outcome->answer));
      });
}

}  // namespace

void Machines::submit_command(base::Uuid id, MachineCommand command, IdempotentCall call, Reply reply,
                              Callback<CallReply> done) {
  submit(store_,
         std::make_shared<const MachineCommandRequest>(
             MachineCommandRequest{id, command, std::move(call), std::move(reply)}),
         std::move(done));
}

namespace {

base::Result<bool> note_disk_in(Tx& tx, const base::Uuid& id, bool is_writable) {
  constexpr std::string_view kImage = "image";
  const std::string_view disk = is_writable ? kImage : schemas::kReadOnlyDisk;
  auto row = find_machine_row(tx.db, id);
  if (!row || row->machine.phase == schemas::MachinePhase::kDestroyed || row->machine.facts.disk == disk)
    return false;
  row->machine.facts.disk = disk;
  save_machine(tx, *row);
  return true;
}

}  // namespace

void Machines::note_disk(base::Uuid id, bool is_writable, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, kMachineRowBytes,
      [id, is_writable](Tx& tx) { return note_disk_in(tx, id, is_writable); }, std::move(done));
}

void Machines::touch(base::Uuid id, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kNormal, kMachineRowBytes,
      [id](Tx& tx) -> base::Result<bool> { return mark_machine_used(tx, id); }, std::move(done));
}

}  // namespace millrace::storage
