#pragma once
#include <functional>
#include <optional>

#include "api/call.h"
#include "api/context.h"
#include "platform/base/crypto.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/writer/writer.h"

namespace millrace::api {

// The call's Idempotency-Key, bound to its method, its path (with the machine's id, also if it was sent with
// the name) and a hash of its body. nullopt: none was sent.
// kBadRequest: it is malformed.
base::Result<std::optional<storage::IdempotencyKey>> optional_key(Call& call);

// The same with another fingerprint, which is computed only if there is a key.
base::Result<std::optional<storage::IdempotencyKey>> optional_key(
    Call& call, const std::function<base::Sha256Digest()>& fingerprint);

// Who calls, and with which key.
storage::IdempotentCall idempotent_call(Context& context, const Call& call,
                                        std::optional<storage::IdempotencyKey> key);

// 200 with the body; with `idempotent-replayed` if the body is a stored reply.
front::Reply http_reply_of(const storage::CallReply& answer);
// A callback that sends the outcome of a storage operation as the response to `call`.
storage::Callback<storage::CallReply> reply_callback(CallPtr call);

}  // namespace millrace::api
