#include <string>
#include <utility>

#include "api/admission/guard.h"
#include "api/admission/token_limits.h"
#include "api/call_key.h"
#include "api/chat/chat_jobs.h"
#include "api/chat/chat_responder.h"
#include "api/files/file_input.h"
#include "api/handlers.h"
#include "api/jobs/job_handlers.h"
#include "api/jobs/job_result.h"
#include "api/model_request.h"
#include "schemas/chat/file_parts.h"

namespace millrace::api {
namespace {

// A request that is going to be answered.
struct ChatIntake {
  Context& context;
  CallPtr call;
  schemas::ChatRequest request;
  std::optional<storage::IdempotencyKey> key;
  std::size_t bytes;  // of the body, with the files that it names
};

void begin_chat(ChatIntake intake) {
  auto& [context, call, request, key, bytes] = intake;
  if (const base::Status good = context.chat.check(request); !good)
    return call->fail(wrong_model_error(context, request.models.front(), "chat", good.error()));
  if (request.deferred) return defer_chat(context, call, std::move(request), std::move(key));
  if (key) call->ignored.emplace_back(kIdempotencyKey);  // there is no job to keep it with
  if (const base::Status allowed = context.tokens.admit(*call, bytes); !allowed)
    return call->fail(allowed.error());
  std::string().swap(call->body());  // its budget stays reserved: the request holds as many bytes
  std::make_shared<ChatResponder>(context, std::move(call), std::move(request))->begin();
}

// Runs on the pool.
void begin_with_files(ChatIntake& intake) {
  for (const schemas::FilePart& part : schemas::file_parts(intake.request)) {
    auto content = chat_file(intake.context, *intake.call, part.id, part.place);
    if (!content) return intake.call->fail(content.error());
    intake.bytes += content->base64.size();
    if (!intake.call->grow(intake.bytes)) return intake.call->fail(body_budget_exhausted());
    schemas::set_file_content(*part.file, content->name, std::move(content->base64));
  }
  begin_chat(std::move(intake));
}

}  // namespace

void create_chat(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto key = optional_key(*call);  // before parsing changes the body
  if (!key) return call->fail(key.error());
  const bool may_name_files = call->body().find(R"("file-)") != std::string::npos;
  auto request = schemas::read_chat_request(call->body());
  if (!request) return call->refuse(request.error());
  call->set_model(request->models.front());
  request->strict = *strict;
  request->tenant = call->tenant();
  request->allowed_models = call->principal->access.models;
  request->allowed_servers = call->principal->access.mcp_servers;
  const std::size_t bytes = call->body().size();
  ChatIntake intake{context, std::move(call), *std::move(request), *std::move(key), bytes};
  if (!may_name_files || schemas::file_parts(intake.request).empty()) return begin_chat(std::move(intake));
  auto later = std::make_shared<ChatIntake>(std::move(intake));
  on_pool(context, base::Pool::Queue::kLarge, later->call, [later] { begin_with_files(*later); });
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
