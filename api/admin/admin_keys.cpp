#include "api/admission/grants.h"
#include "api/admission/keys.h"
#include "api/call.h"
#include "api/handlers.h"
#include "platform/base/log.h"
#include "schemas/admin_request.h"
#include "schemas/json/json_text.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

std::string texts_json(const std::vector<std::string>& texts) {
  std::string text = "[";
  for (const std::string& each : texts) {
    if (text.size() > 1) text += ',';
    schemas::append_json_string(text, each);
  }
  return text += ']';
}

JsonObject& add_key(JsonObject& out, const storage::ApiKeyRow& key) {
  out.member("id", key.id)
      .member("name", key.name)
      .member("tenant", key.tenant)
      .raw("scopes", texts_json(key.scopes))
      .member("created_at", base::rfc3339(key.created_at));
  if (!key.limits.empty()) out.raw("limits", schemas::limits_json(key.limits));
  if (key.budget) out.raw("budget", schemas::budget_json(*key.budget));
  if (key.expires_at) out.member("expires_at", base::rfc3339(*key.expires_at));
  if (key.revoked_at) out.member("revoked_at", base::rfc3339(*key.revoked_at));
  if (key.last_used_at) out.member("last_used_at", base::rfc3339(*key.last_used_at));
  if (key.access.ip_ranges) out.raw("ip_ranges", texts_json(*key.access.ip_ranges));
  if (key.access.models) out.raw("models", texts_json(*key.access.models));
  if (key.access.mcp_servers) out.raw("mcp_servers", texts_json(*key.access.mcp_servers));
  if (!key.rotated_to.empty()) out.member("rotated_to", key.rotated_to);
  return out;
}

std::string key_json(const storage::ApiKeyRow& key) {
  JsonObject out;
  return add_key(out, key).finish();
}

// This process applies a change and knows a new key at once, the others within a second. If the keys cannot
// be read now, the next poll applies it. The response to `call` is sent even if its own key has ended.
void apply_key_changes(Context& context, Call& call) {
  context.live_calls.remove(call);
  if (const base::Status fresh = context.live_calls.refresh(); !fresh)
    base::log_warn("keys_refresh_failed", {{"error", fresh.error().message}});
}

void send_key(Context& context, Call& call) {
  const auto key = storage::ApiKeys(context.store).find(call.params.front());
  if (!key) return call.fail(key.error());
  if (!*key) return call.fail(storage::no_such_key());
  call.reply(json_reply(200, key_json(**key)));
}

// `no-store`: proxies and browsers must not store the key.
void send_made(Call& call, const MadeKey& made) {
  JsonObject out;
  out.member("key", made.text);
  front::Reply reply = json_reply(200, add_key(out, made.row).finish());
  add_header(reply, "cache-control", "no-store");
  call.reply(std::move(reply));
}

}  // namespace

void admin_list_keys(Context& context, CallPtr call) {
  const auto keys = list_keys(context.store);
  if (!keys) return call->fail(keys.error());
  std::string items = "[";
  for (const storage::ApiKeyRow& key : *keys) {
    if (is_visible(*call->principal, key)) items.append(items.size() > 1 ? "," : "").append(key_json(key));
  }
  call->reply(json_reply(200, JsonObject().raw("items", items += ']').finish()));
}

void admin_create_key(Context& context, CallPtr call) {
  const Principal& by = *call->principal;
  const bool is_installation = by.scopes.has(schemas::Scope::kAdmin);
  const auto requested = schemas::parse_key_request(call->body(), is_installation ? "default" : by.tenant);
  if (!requested) return call->refuse(requested.error());
  if (const base::Status may = may_grant(by, requested->tenant, requested->scopes, requested->access); !may)
    return call->fail(may.error());
  if (const base::Status may = may_grant(by, requested->expires_at, requested->limits, requested->budget);
      !may)
    return call->fail(may.error());
  const auto made = create_key(context.store, context.pepper, *requested, call->principal->key_id);
  if (!made) return call->fail(made.error());
  apply_key_changes(context, *call);
  send_made(*call, *made);
}

void admin_change_key(Context& context, CallPtr call) {
  const auto change = schemas::parse_key_change(call->body());
  if (!change) return call->refuse(change.error());
  const PrincipalPtr by = call->principal;
  const auto done = change_key(context.store, call->params.front(), *change, by->key_id,
                               [by](const storage::ApiKeyRow& before, const storage::ApiKeyRow& after) {
                                 return may_change(*by, before, after);
                               });
  if (!done) return call->fail(done.error());
  apply_key_changes(context, *call);
  send_key(context, *call);
}

void admin_revoke_key(Context& context, CallPtr call) {
  const std::string& id = call->params.front();
  const PrincipalPtr by = call->principal;
  const auto revoked = revoke_key(context.store, id, by->key_id,
                                  [by](const storage::ApiKeyRow& key) { return may_manage(*by, key); });
  if (!revoked) return call->fail(revoked.error());
  apply_key_changes(context, *call);
  send_key(context, *call);
}

void admin_rotate_key(Context& context, CallPtr call) {
  const auto overlap = schemas::parse_rotation(call->body());
  if (!overlap) return call->refuse(overlap.error());
  const PrincipalPtr by = call->principal;
  const auto made = rotate_key(context.store, context.pepper, call->params.front(), *overlap, by->key_id,
                               [by](const storage::ApiKeyRow& key) { return may_take_over(*by, key); });
  if (!made) return call->fail(made.error());
  apply_key_changes(context, *call);
  send_made(*call, *made);
}

}  // namespace millrace::api
