#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "storage/idempotency_key.h"
#include "storage/machine_calls.h"
#include "storage/writer.h"

// Inside storage: first replies of calls under /v1/machines that made no job (delivery.md, Idempotency-Key).
namespace millrace::storage {

// What the call's key was given before, or kIdempotencyReused. Absent: it is new, or there is none.
std::optional<base::Result<Answer>> reply_before(Tx& tx, const MachineCall& call);

// Keeps the body as the first reply of the call's key, for kIdempotencyAge, and returns it.
Answer keep_reply(Tx& tx, const MachineCall& call, std::string body);

}  // namespace millrace::storage
