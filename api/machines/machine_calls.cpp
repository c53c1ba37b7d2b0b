#include "api/machines/machine_calls.h"

#include <algorithm>
#include <utility>

#include "schemas/machines/machine_request.h"
#include "schemas/machines/ssh_session.h"
#include "storage/machines/machines.h"

namespace millrace::api {
namespace {

using base::Code;

constexpr std::string_view kMachinePrefix = "/v1/machines/";
constexpr std::string_view kMachinePattern = "/v1/machines/{machine_id}";

base::Error no_machine() { return base::error(Code::kNotFound, "There is no such machine"); }

}  // namespace

bool has_machine_name(const Call& call) {
  return call.route->pattern.starts_with(kMachinePattern) && !schemas::machine_id_from(call.params.front());
}

bool resolve_machine_name(Context& context, Call& call) {
  const auto id = storage::Machines(context.store).named(call.tenant(), call.params.front());
  if (!id) {
    call.fail(id.error());
    return false;
  }
  call.params.front() = schemas::machine_id(id->value_or(base::Uuid()));
  const std::string& path = call.head().path;
  const std::size_t name_end = std::min(path.find('/', kMachinePrefix.size()), path.size());
  call.canonical_path = std::string(kMachinePrefix) + call.params.front() + path.substr(name_end);
  return true;
}

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

void add_retry_after_header(front::Reply& reply) {
  add_header(reply, "retry-after-ms", std::to_string(schemas::kWakeRetryAfterMs));
}

}  // namespace millrace::api
