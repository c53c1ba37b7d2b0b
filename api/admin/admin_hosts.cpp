#include <vector>

#include "api/admin/admin_text.h"
#include "api/call.h"
#include "api/handlers.h"
#include "storage/workers/processes.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;
using storage::ProcessView;

std::string roles_json(const storage::Process& process) {
  std::string out;
  const auto add = [&out](bool has, const char* role) {
    if (has) out.append(out.empty() ? "[\"" : ",\"").append(role).append("\"");
  };
  add(process.serves_api, "api");
  add(process.calls_models, "models");
  add(process.runs_machines, "machines");
  return out.empty() ? "[]" : out + "]";
}

std::string process_json(const ProcessView& view, base::WallTime now) {
  return JsonObject()
      .member("process_id", view.process.id.str())
      .member("version", view.process.version)
      .raw("roles", roles_json(view.process))
      .flag("live", view.is_alive)
      .member("started_at", base::rfc3339(view.started_at))
      .member("seen_at", base::rfc3339(view.seen_at))
      .raw("report_age_seconds", age_text(view.seen_at, now))
      .finish();
}

// Of the processes of one host, which are next to each other.
std::string host_json(const std::vector<ProcessView>& of_host, base::WallTime now) {
  JsonItems processes;
  bool is_alive = false;
  for (const ProcessView& view : of_host) {
    processes.add(process_json(view, now));
    is_alive = is_alive || view.is_alive;
  }
  return JsonObject()
      .member("name", of_host.front().process.host)
      .flag("live", is_alive)
      .flag("maintains", of_host.front().maintains)
      .number("machines", of_host.front().machines)
      .raw("processes", processes.finish())
      .finish();
}

}  // namespace

void admin_hosts(Context& context, CallPtr call) {
  const auto all = storage::Processes(context.store).list();
  if (!all) return call->fail(all.error());
  const base::WallTime now = context.store.clock().wall();
  JsonItems items;
  std::vector<ProcessView> of_host;
  for (const ProcessView& view : *all) {
    if (!of_host.empty() && of_host.front().process.host != view.process.host) {
      items.add(host_json(of_host, now));
      of_host.clear();
    }
    of_host.push_back(view);
  }
  if (!of_host.empty()) items.add(host_json(of_host, now));
  send_items(*call, std::move(items));
}

}  // namespace millrace::api
