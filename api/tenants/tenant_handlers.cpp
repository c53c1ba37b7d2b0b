#include <array>
#include <optional>
#include <span>

#include <nlohmann/json.hpp>

#include "api/admission/keys.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/routing/list_query.h"
#include "schemas/json/json_text.h"
#include "schemas/tenants/tenant_request.h"
#include "storage/tenants/tenants.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

constexpr double kMsPerSecond = 1000;

std::string usd_text(schemas::NanoUsd nano) { return nlohmann::json(schemas::usd(nano)).dump(); }

JsonObject& add_usage(JsonObject& out, const storage::QuotaUse& use) {
  return out.number("running_jobs", use.running_jobs)
      .number("stored_jobs", use.stored_jobs)
      .number("stored_bytes", use.stored_bytes)
      .raw("cost_usd", usd_text(use.in_period.cost))
      .raw("reserved_usd", usd_text(use.in_period.reserved))
      .number("requests", use.in_period.requests)
      .number("tokens", use.in_period.tokens)
      .number("pages", use.in_period.pages)
      .raw("audio_seconds", nlohmann::json(static_cast<double>(use.in_period.audio_ms) / kMsPerSecond).dump())
      .number("machines", use.machines)
      .raw("vcpu", nlohmann::json(use.vcpu).dump())
      .number("memory_mib", use.memory_mib)
      .number("storage_gib", use.storage_gib)
      .number("ssh_sessions", use.ssh_sessions);
}

// `budget` as it was set, or null, and what is spent and reserved in its period.
JsonObject& add_budget(JsonObject& out, const storage::TenantView& owner) {
  out.raw("budget", owner.budget ? schemas::budget_json(*owner.budget) : "null");
  if (owner.budget) out.raw("budget_used_usd", usd_text(owner.budget_used));
  return out;
}

std::string usage_json(const storage::QuotaUse& use) {
  JsonObject out;
  return add_usage(out, use).finish();
}

std::string tenant_json(const storage::TenantView& tenant) {
  JsonObject out;
  out.member("name", tenant.name)
      .raw("limits", schemas::limits_json(tenant.own))
      .raw("effective_limits", schemas::limits_json(tenant.limits));
  return add_budget(out, tenant).raw("usage", usage_json(tenant.use)).finish();
}

struct UsageQuery {
  std::string period = "day";
};
constexpr std::array<std::string_view, 3> kPeriods = {"day", "month", "total"};
constexpr std::array kUsageFields{schemas::Field{
    .name = "period",
    .text = "What is counted over time (`cost_usd`, `reserved_usd`, `requests`, `tokens`, `pages`, "
            "`audio_seconds`): since midnight UTC, since the first of the month, or all",
    .choices = kPeriods,
    .default_json = R"("day")",
    .store = &schemas::store_in<UsageQuery, &UsageQuery::period>}};

// The tenant of the path; absent: its name is not valid, and the call has failed.
std::optional<std::string> path_tenant(Call& call) {
  const std::string& name = call.params.front();
  if (is_valid_name(name)) return name;
  call.fail(base::error(base::Code::kInvalidField,
                        "A tenant's name has 1 to 64 characters of A-Z a-z 0-9 . _ -", "tenant"));
  return std::nullopt;
}

void send_tenant(Context& context, Call& call, const std::string& name) {
  const auto tenant = storage::Tenants(context.store).find(name);
  if (!tenant) return call.fail(tenant.error());
  call.reply(json_reply(200, tenant_json(*tenant)));
}

}  // namespace

std::span<const schemas::Field> usage_fields() { return kUsageFields; }

void admin_list_tenants(Context& context, CallPtr call) {
  const auto tenants = storage::Tenants(context.store).list();
  if (!tenants) return call->fail(tenants.error());
  std::string items = "[";
  for (const storage::TenantView& tenant : *tenants)
    items.append(items.size() > 1 ? "," : "").append(tenant_json(tenant));
  call->reply(json_reply(200, JsonObject().raw("items", items += ']').finish()));
}

void admin_get_tenant(Context& context, CallPtr call) {
  if (const auto name = path_tenant(*call)) send_tenant(context, *call, *name);
}

void admin_set_tenant(Context& context, CallPtr call) {
  const auto name = path_tenant(*call);
  if (!name) return;
  const auto request = schemas::parse_tenant_request(call->body());
  if (!request) return call->refuse(request.error());
  storage::Tenants(context.store)
      .set(
          *name, {request->limits, request->budget},
          [&context, call, name = *name](const base::Result<bool>& done) {
            if (!done) return call->fail(done.error());
            reply_on_pool(context, call, [&context, call, name] { send_tenant(context, *call, name); });
          },
          call->principal->key_id);
}

void get_usage(Context& context, CallPtr call) {
  UsageQuery query;
  if (!read_query(*call, kUsageFields, &query)) return;
  const auto period = *schemas::period_named(query.period);
  storage::Tenants tenants(context.store);
  const auto tenant = tenants.find(call->tenant(), period);
  if (!tenant) return call->fail(tenant.error());
  const auto key = tenants.of_key(call->principal->key_id, period);
  if (!key) return call->fail(key.error());
  JsonObject out, of_key;
  out.member("tenant", tenant->name).member("period", query.period);
  add_usage(out, tenant->use).raw("limits", schemas::limits_json(tenant->limits));
  add_budget(out, *tenant);
  of_key.member("id", key->name);
  add_usage(of_key, key->use).raw("limits", schemas::limits_json(key->limits));
  add_budget(of_key, *key);
  call->reply(json_reply(200, out.raw("key", of_key.finish()).finish()));
}

}  // namespace millrace::api
