#include "api/call_key.h"

#include <string>
#include <utility>

#include "api/headers.h"

namespace millrace::api {

base::Result<std::optional<storage::IdempotencyKey>> optional_key(
    Call& call, const std::function<base::Sha256Digest()>& fingerprint) {
  auto key = idempotency_key(call.head());
  if (!key) return key.error();
  if (!*key) return std::optional<storage::IdempotencyKey>();
  return storage::IdempotencyKey{.method = std::string(name(call.route->method)),
                                 .path = call.canonical_path.empty() ? call.head().path : call.canonical_path,
                                 .key = std::move(**key),
                                 .fingerprint = fingerprint()};
}

base::Result<std::optional<storage::IdempotencyKey>> optional_key(Call& call) {
  return optional_key(call, [&call] { return base::sha256(call.body()); });
}

storage::IdempotentCall idempotent_call(Context& context, const Call& call,
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

}  // namespace millrace::api
