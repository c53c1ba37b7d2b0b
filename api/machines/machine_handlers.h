#pragma once
#include <optional>
#include <string_view>

#include "api/call.h"
#include "api/context.h"
#include "platform/base/ids.h"
#include "schemas/machines/machine.h"
#include "storage/jobs/idempotent_call.h"

// What calls under /v1/machines have in common.
namespace millrace::api {

// The machine that the path names; nullopt: `call` was answered 404.
std::optional<base::Uuid> path_machine(Call& call);
// As above, and the caller has it. Blocks: pool.
std::optional<schemas::Machine> path_machine_found(Context& context, Call& call);

// The Idempotency-Key of `call`, if it has one, with the fingerprint of its body: REQUIRES that the body has
// not been parsed yet. kBadRequest: it is no key.
base::Result<std::optional<storage::IdempotencyKey>> sent_key(Call& call);
// The same where there must be one: else kBadRequest, which names the header and says that each `thing` needs
// a new one.
base::Result<storage::IdempotencyKey> required_key(Call& call, std::string_view thing);

storage::IdempotentCall machine_call(Context& context, const Call& call,
                                     std::optional<storage::IdempotencyKey> key);

// 200 with the body; `idempotent-replayed` where it is a stored one.
front::Reply answer_reply(const storage::CallReply& answer);
// Answers `call` with what a move of storage came to.
storage::Callback<storage::CallReply> answer_to(CallPtr call);

// `retry-after-ms` of a body that has `retry_after_ms`: clients wait by the header alone.
void add_wake_wait(front::Reply& reply);

}  // namespace millrace::api
