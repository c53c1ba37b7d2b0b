#include "api/call.h"
#include "api/handlers.h"
#include "api/machines/machine_calls.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "schemas/machines/machine.h"
#include "schemas/machines/machine_request.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/machines.h"

namespace millrace::api {
namespace {

using storage::MachineCommand;

std::string shown(const schemas::Machine& machine) { return schemas::machine_json(machine, true); }

// A new machine with a unique default name.
schemas::Machine fresh_machine(const Context& context, const Call& call) {
  schemas::Machine machine;
  machine.id = base::Uuid::make(context.clock.wall());
  machine.tenant = call.tenant();
  machine.name = storage::name_by_id("machine", machine.id);
  return machine;
}

// Sets the desired state of the machine in the path.
void request_state(Context& context, const CallPtr& call, MachineCommand command,
                   std::optional<storage::IdempotencyKey> key) {
  const auto id = path_machine(*call);
  if (!id) return;
  storage::Machines(context.store)
      .submit_command(*id, command, idempotent_call(context, *call, std::move(key)), &shown,
                      reply_callback(call));
}

// The same for a call without a body.
void request_state(Context& context, const CallPtr& call, MachineCommand command) {
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  request_state(context, call, command, std::move(*key));
}

}  // namespace

std::span<const schemas::Field> machine_list_fields() { return kPageFields; }

void list_machines(Context& context, CallPtr call) {
  PageQuery query;
  std::optional<base::Uuid> before;
  if (!read_query(*call, kPageFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  const auto machines = storage::Machines(context.store).list(call->tenant(), query.limit + 1, before);
  if (!machines) return call->fail(machines.error());
  send_list(context, *call, *machines, query.limit,
            [](const schemas::Machine& machine) { return schemas::machine_json(machine, false); });
}

void create_machine(Context& context, CallPtr call) {
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  const auto change = schemas::parse_machine_change(call->body());
  if (!change) return call->refuse(change.error());
  schemas::Machine machine = fresh_machine(context, *call);
  schemas::apply(*change, machine);
  storage::Machines(context.store)
      .create(std::move(machine), idempotent_call(context, *call, std::move(*key)), &shown,
              reply_callback(call));
}

void get_machine(Context& context, CallPtr call) {
  const auto machine = find_path_machine(context, *call);
  if (!machine) return;
  call->reply(json_reply(200, schemas::machine_json(*machine, true, !context.store.health().disk_ok)));
}

void change_machine(Context& context, CallPtr call) {
  const auto id = path_machine(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  const auto change = schemas::parse_machine_change(call->body());
  if (!change) return call->refuse(change.error());
  storage::Machines(context.store)
      .change(*id, *change, idempotent_call(context, *call, std::move(*key)), &shown, reply_callback(call));
}

void sleep_machine(Context& context, CallPtr call) { request_state(context, call, MachineCommand::kSleep); }
void wake_machine(Context& context, CallPtr call) { request_state(context, call, MachineCommand::kRun); }

void reboot_machine(Context& context, CallPtr call) {
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  const auto forced = schemas::parse_reboot(call->body());
  if (!forced) return call->refuse(forced.error());
  request_state(context, call, *forced ? MachineCommand::kForcedReboot : MachineCommand::kReboot,
                std::move(*key));
}

void delete_machine(Context& context, CallPtr call) {
  request_state(context, call, MachineCommand::kDestroy);
}

}  // namespace millrace::api
