#include <algorithm>
#include <array>

#include "api/call.h"
#include "api/execution.h"
#include "api/handlers.h"
#include "api/list_query.h"
#include "schemas/json_text.h"
#include "schemas/machine.h"
#include "storage/machine_rows.h"

namespace millrace::api {
namespace {

constexpr std::array kListFields{limit_field<PageQuery>(), cursor_field<PageQuery>()};

}  // namespace

std::span<const schemas::Field> machine_list_fields() { return kListFields; }

void list_machines(Context& context, CallPtr call) {
  PageQuery query;
  std::optional<base::Uuid> before;
  if (!read_query(*call, kListFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  const auto machines = storage::Machines(context.store).list(call->tenant(), query.limit + 1, before);
  if (!machines) return call->fail(machines.error());
  const std::size_t count = std::min(machines->size(), static_cast<std::size_t>(query.limit));
  std::string items = "[";
  for (std::size_t i = 0; i < count; ++i)
    items.append(i > 0 ? "," : "").append(schemas::machine_json((*machines)[i], false));
  schemas::JsonObject out;
  out.raw("items", items + "]");
  if (count < machines->size()) out.member("next_cursor", job_cursor((*machines)[count - 1].id));
  call->reply(json_reply(200, out.finish()));
}

void get_machine(Context& context, CallPtr call) {
  const auto id = path_machine(*call);
  if (!id) return;
  const auto machine = storage::Machines(context.store).machine(call->tenant(), *id);
  if (!machine) return call->fail(machine.error());
  call->reply(json_reply(200, schemas::machine_json(*machine, true)));
}

}  // namespace millrace::api
