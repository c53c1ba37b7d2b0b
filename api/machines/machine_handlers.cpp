#include "api/machines/machine_handlers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/call.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "platform/base/crypto.h"
#include "schemas/machines/machine.h"
#include "schemas/machines/machine_request.h"
#include "schemas/machines/ssh_session.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/machines.h"

namespace millrace::api {
namespace {

using base::Code;

base::Error no_machine() { return base::error(Code::kNotFound, "There is no such machine"); }

}  // namespace

std::optional<base::Uuid> path_machine(Call& call) {
  const auto id = schemas::machine_id_from(call.params.front());
  if (!id) call.fail(no_machine());
  return id;
}

std::optional<schemas::Machine> find_path_machine(Context& context, Call& call) {
  const auto id = path_machine(call);
  if (!id) return std::nullopt;
  auto machine = storage::Machines(context.store).machine(call.tenant(), *id);
  if (machine) return std::move(*machine);
  call.fail(machine.error().code == Code::kNotFound ? no_machine() : machine.error());
  return std::nullopt;
}

base::Result<std::optional<storage::IdempotencyKey>> optional_key(Call& call) {
  auto key = idempotency_key(call.head());
  if (!key) return key.error();
  if (!*key) return std::optional<storage::IdempotencyKey>();
  return storage::IdempotencyKey{.method = std::string(name(call.route->method)),
                                 .path = call.head().path,
                                 .key = std::move(**key),
                                 .fingerprint = base::sha256(call.body())};
}

base::Result<storage::IdempotencyKey> required_key(Call& call, std::string_view thing) {
  auto key = optional_key(call);
  if (!key) return key.error();
  if (!*key) {
    return base::error(
        Code::kBadRequest,
        "The Idempotency-Key header is required: 1 to 255 printable ASCII characters, a new key "
        "for each " +
            std::string(thing),
        "Idempotency-Key");
  }
  return std::move(**key);
}

storage::IdempotentCall machine_call(Context& context, const Call& call,
                                     std::optional<storage::IdempotencyKey> key) {
  return {.tenant = call.tenant(),
          .actor = call.principal->key_id,
          .key = std::move(key),
          .act = context.submit.new_id(schemas::Kind::kMachine)};
}

front::Reply http_reply_of(const storage::CallReply& answer) {
  front::Reply reply = json_reply(200, answer.body);
  if (answer.replayed) add_header(reply, "idempotent-replayed", "true");
  return reply;
}

storage::Callback<storage::CallReply> reply_callback(CallPtr call) {
  return [call = std::move(call)](const base::Result<storage::CallReply>& answer) {
    if (!answer) return call->fail(answer.error());
    call->reply(http_reply_of(*answer));
  };
}

void add_retry_after_header(front::Reply& reply) {
  add_header(reply, "retry-after-ms", std::to_string(schemas::kWakeRetryAfterMs));
}

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
      .submit_command(*id, command, machine_call(context, *call, std::move(key)), &shown,
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
      .create(std::move(machine), machine_call(context, *call, std::move(*key)), &shown,
              reply_callback(call));
}

void get_machine(Context& context, CallPtr call) {
  const auto machine = find_path_machine(context, *call);
  if (machine) call->reply(json_reply(200, shown(*machine)));
}

void change_machine(Context& context, CallPtr call) {
  const auto id = path_machine(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  const auto change = schemas::parse_machine_change(call->body());
  if (!change) return call->refuse(change.error());
  storage::Machines(context.store)
      .change(*id, *change, machine_call(context, *call, std::move(*key)), &shown, reply_callback(call));
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
