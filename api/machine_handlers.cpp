#include <algorithm>
#include <array>

#include "api/call.h"
#include "api/handlers.h"
#include "api/list_query.h"
#include "api/machine_calls.h"
#include "api/page.h"
#include "schemas/machine.h"
#include "schemas/machine_request.h"
#include "storage/machine_names.h"
#include "storage/machine_rows.h"

namespace millrace::api {
namespace {

using storage::MachineWish;

std::string shown(const schemas::Machine& machine) { return schemas::machine_json(machine, true); }

// With a name of its own until somebody gives it another.
schemas::Machine fresh_machine(const Context& context, const Call& call) {
  schemas::Machine machine;
  machine.id = base::Uuid::make(context.clock.wall());
  machine.tenant = call.tenant();
  machine.name = storage::name_by_id("machine", machine.id);
  return machine;
}

// Wants the machine of the path to be so.
void wish(Context& context, const CallPtr& call, MachineWish wanted,
          std::optional<storage::IdempotencyKey> key) {
  const auto id = path_machine(*call);
  if (!id) return;
  storage::Machines(context.store)
      .want(*id, wanted, machine_call(context, *call, std::move(key)), &shown, answer_to(call));
}

// The same for a call whose body says nothing more.
void wish(Context& context, const CallPtr& call, MachineWish wanted) {
  auto key = sent_key(*call);
  if (!key) return call->fail(key.error());
  wish(context, call, wanted, std::move(*key));
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
  auto key = sent_key(*call);
  if (!key) return call->fail(key.error());
  const auto wanted = schemas::parse_machine_change(call->body());
  if (!wanted) return call->refuse(wanted.error());
  schemas::Machine machine = fresh_machine(context, *call);
  schemas::apply(*wanted, machine);
  storage::Machines(context.store)
      .create(std::move(machine), machine_call(context, *call, std::move(*key)), &shown, answer_to(call));
}

void get_machine(Context& context, CallPtr call) {
  const auto machine = path_machine_found(context, *call);
  if (machine) call->reply(json_reply(200, shown(*machine)));
}

void change_machine(Context& context, CallPtr call) {
  const auto id = path_machine(*call);
  if (!id) return;
  auto key = sent_key(*call);
  if (!key) return call->fail(key.error());
  const auto change = schemas::parse_machine_change(call->body());
  if (!change) return call->refuse(change.error());
  storage::Machines(context.store)
      .change(*id, *change, machine_call(context, *call, std::move(*key)), &shown, answer_to(call));
}

void sleep_machine(Context& context, CallPtr call) { wish(context, call, MachineWish::kSleep); }
void wake_machine(Context& context, CallPtr call) { wish(context, call, MachineWish::kRun); }

void reboot_machine(Context& context, CallPtr call) {
  auto key = sent_key(*call);
  if (!key) return call->fail(key.error());
  const auto forced = schemas::parse_reboot(call->body());
  if (!forced) return call->refuse(forced.error());
  wish(context, call, *forced ? MachineWish::kForcedReboot : MachineWish::kReboot, std::move(*key));
}

void delete_machine(Context& context, CallPtr call) { wish(context, call, MachineWish::kDestroy); }

}  // namespace millrace::api
