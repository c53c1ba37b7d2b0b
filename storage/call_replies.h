#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "storage/idempotency_key.h"
#include "storage/machine_calls.h"
#include "storage/writer.h"

// Inside storage: first replies of calls under /v1/machines that created no job (docs/design/delivery.md,
// Idempotency-Key).
namespace millrace::storage {

// The stored reply for the call's key, or kIdempotencyReused. Absent: the key is new, or the call has none.
std::optional<base::Result<Answer>> reply_before(Tx& tx, const MachineCall& call);

// Stores the body as the first reply for the call's key, for kIdempotencyAge, and returns it.
Answer keep_reply(Tx& tx, const MachineCall& call, std::string body);

}  // namespace millrace::storage
