#include <string>
#include <utility>

#include "api/admission/token_limits.h"
#include "api/call_key.h"
#include "api/chat/chat_jobs.h"
#include "api/chat/chat_responder.h"
#include "api/handlers.h"
#include "api/jobs/job_handlers.h"
#include "api/jobs/job_result.h"
#include "api/model_request.h"

namespace millrace::api {
void create_chat(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto key = optional_key(*call);  // before parsing changes the body
  if (!key) return call->fail(key.error());
  auto request = schemas::read_chat_request(call->body());
  if (!request) return call->refuse(request.error());
  call->set_model(request->models.front());
  request->strict = *strict;
  request->tenant = call->tenant();
  request->allowed_models = call->principal->access.models;
  request->allowed_servers = call->principal->access.mcp_servers;
  if (const base::Status good = context.chat.check(*request); !good)
    return call->fail(wrong_model_error(context, request->models.front(), "chat", good.error()));
  if (request->deferred) return defer_chat(context, call, *std::move(request), *std::move(key));
  if (*key) call->ignored.emplace_back(kIdempotencyKey);  // there is no job to keep it with
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
  wait_as_preferred(context, call, *id,
                    [&context, call, id = *id] { send_result(context, *call, id, ReplayState::kFirst); });
}

}  // namespace millrace::api
