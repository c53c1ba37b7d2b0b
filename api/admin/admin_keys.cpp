#include "api/admission/keys.h"
#include "api/call.h"
#include "api/handlers.h"
#include "schemas/admin_request.h"
#include "schemas/json/json_text.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;

std::string scopes_json(const std::vector<std::string>& scopes) {
  std::string text = "[";
  for (const std::string& scope : scopes) {
    if (text.size() > 1) text += ',';
    schemas::append_json_string(text, scope);
  }
  return text += ']';
}

JsonObject& add_key(JsonObject& out, const storage::ApiKeyRow& key) {
  out.member("id", key.id)
      .member("name", key.name)
      .member("tenant", key.tenant)
      .raw("scopes", scopes_json(key.scopes))
      .member("created_at", base::rfc3339(key.created_at));
  if (!key.limits.empty()) out.raw("limits", schemas::limits_json(key.limits));
  if (key.expires_at) out.member("expires_at", base::rfc3339(*key.expires_at));
  if (key.revoked_at) out.member("revoked_at", base::rfc3339(*key.revoked_at));
  if (key.last_used_at) out.member("last_used_at", base::rfc3339(*key.last_used_at));
  return out;
}

std::string key_json(const storage::ApiKeyRow& key) {
  JsonObject out;
  return add_key(out, key).finish();
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
  for (const storage::ApiKeyRow& key : *keys) items.append(items.size() > 1 ? "," : "").append(key_json(key));
  call->reply(json_reply(200, JsonObject().raw("items", items += ']').finish()));
}

void admin_create_key(Context& context, CallPtr call) {
  const auto requested = schemas::parse_key_request(call->body());
  if (!requested) return call->refuse(requested.error());
  const auto made = create_key(context.store, context.pepper, *requested, call->principal->key_id);
  if (!made) return call->fail(made.error());
  send_made(*call, *made);
}

void admin_revoke_key(Context& context, CallPtr call) {
  const std::string& id = call->params.front();
  const auto revoked = revoke_key(context.store, id, call->principal->key_id);
  if (!revoked) return call->fail(revoked.error());
  const auto key = storage::ApiKeys(context.store).find(id);
  if (!key) return call->fail(key.error());
  if (!*key) return call->fail(base::error(base::Code::kNotFound, "There is no such key"));
  call->reply(json_reply(200, key_json(**key)));
}

void admin_rotate_key(Context& context, CallPtr call) {
  const auto overlap = schemas::parse_rotation(call->body());
  if (!overlap) return call->refuse(overlap.error());
  const auto made =
      rotate_key(context.store, context.pepper, call->params.front(), *overlap, call->principal->key_id);
  if (!made) return call->fail(made.error());
  send_made(*call, *made);
}

}  // namespace millrace::api
