#pragma once
#include <functional>
#include <optional>

#include "api/call.h"
#include "platform/base/crypto.h"
#include "storage/jobs/idempotent_call.h"

namespace millrace::api {

// The call's Idempotency-Key, bound to its method, its path (with the machine's id, also if it was sent with
// the name) and a hash of its body. nullopt: none was sent.
// kBadRequest: it is malformed.
base::Result<std::optional<storage::IdempotencyKey>> optional_key(Call& call);

// The same with another fingerprint, which is computed only if there is a key.
base::Result<std::optional<storage::IdempotencyKey>> optional_key(
    Call& call, const std::function<base::Sha256Digest()>& fingerprint);

}  // namespace millrace::api
