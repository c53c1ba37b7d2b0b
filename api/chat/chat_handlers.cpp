#include <string>
#include <utility>

#include "api/admission/token_limits.h"
#include "api/call.h"
#include "api/chat/chat_jobs.h"
#include "api/chat/chat_responder.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/jobs/job_result.h"
#include "api/model_request.h"
#include "platform/base/crypto.h"

namespace millrace::api {
namespace {

// Only jobs have a key. The fingerprint is computed from the received body, because parsing changes it.
base::Result<std::optional<storage::IdempotencyKey>> job_key(Call& call) {
  std::optional<storage::IdempotencyKey> out;
  auto key = idempotency_key(call.head());
  if (!key) return key.error();
  if (*key) {
    out = storage::IdempotencyKey{.method = "POST",
                                  .path = call.head().path,
                                  .key = std::move(**key),
                                  .fingerprint = base::sha256(call.body())};
  }
  return out;
}

}  // namespace

void create_chat(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto key = job_key(*call);
  if (!key) return call->fail(key.error());
  auto request = schemas::read_chat_request(call->body());
  if (!request) return call->refuse(request.error());
  call->set_model(request->models.front());
  request->strict = *strict;
  request->tenant = call->tenant();
  request->allowed_models = call->principal->access.models;
  request->allowed_servers = call->principal->access.mcp_servers;
  if (const base::Status good = context.chat.check(*request); !good)
    return call->fail(
        wrong_model_error(*context.chat.registry(), request->models.front(), "chat", good.error()));
  if (request->deferred) return defer_chat(context, call, *std::move(request), *std::move(key));
  if (const base::Status allowed = context.tokens.admit(*call, call->body().size()); !allowed)
    return call->fail(allowed.error());
  std::string().swap(call->body());  // its budget stays reserved: the request holds as many bytes
  std::make_shared<ChatResponder>(context, std::move(call), *std::move(request))->begin();
}

void deferred_chat(Context& context, CallPtr call) {
  const auto id = schemas::JobId::parse(call->params.front());
  if (!id || id->kind != schemas::Kind::kChat)
    return call->fail(base::error(base::Code::kNotFound, "There is no such deferred completion"));
  call->set_job_id(id->str());
  send_result(context, *call, *id, ReplayState::kFirst);
}

}  // namespace millrace::api
