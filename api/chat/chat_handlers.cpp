#include <string>
#include <utility>
#include <vector>

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
#include "api/webhooks/request_webhook.h"
#include "platform/base/base64.h"
#include "platform/base/bytes.h"
#include "schemas/chat/file_parts.h"
#include "storage/files/files.h"

namespace millrace::api {
namespace {

void begin_chat(ChatIntake intake) {
  Context& context = intake.context;
  const CallPtr call = intake.call;
  if (const base::Status good = context.chat.check(intake.request); !good)
    return call->fail(wrong_model_error(context, intake.request.models.front(), "chat", good.error()));
  if (intake.request.deferred) return defer_chat(std::move(intake));
  if (const base::Status good = check_no_request_webhook(*call); !good) return call->fail(good.error());
  if (intake.key) call->ignored.emplace_back(kIdempotencyKey);  // there is no job to keep it with
  if (const base::Status allowed = context.tokens.admit(*call, intake.bytes); !allowed)
    return call->fail(allowed.error());
  std::string().swap(call->body());  // its budget stays reserved: the request holds as many bytes
  std::make_shared<ChatResponder>(context, call, std::move(intake.request))->begin();
}

// The files of the parts; adds them to `bytes`, as base64. kTooLarge: together with the body they are larger
// than a request may be.
base::Result<std::vector<schemas::StoredFile>> find_files(ChatIntake& intake,
                                                          const std::vector<schemas::FilePart>& parts) {
  std::vector<schemas::StoredFile> files;
  for (const schemas::FilePart& part : parts) {
    auto file = file_input(intake.context, *intake.call, part.id, kChatFileRules, part.place);
    if (!file) {
      intake.missing_file = part.id;
      return file.error();
    }
    intake.bytes += static_cast<std::size_t>(file->bytes + 2) / 3 * 4;
    files.push_back(*std::move(file));
  }
  if (intake.bytes <= intake.call->route->body_max) return files;
  return base::error(base::Code::kTooLarge,
                     "The request and its files are larger than " +
                         base::format_bytes(static_cast<std::int64_t>(intake.call->route->body_max)));
}

// Runs on the pool.
void begin_with_files(ChatIntake& intake) {
  const auto parts = schemas::file_parts(intake.request);
  const auto files = find_files(intake, parts);
  if (!files) {
    const bool may_repeat =
        files.error().code == base::Code::kNotFound && intake.request.deferred && intake.key;
    return may_repeat ? defer_chat(std::move(intake)) : intake.call->fail(files.error());
  }
  if (!intake.call->grow(intake.bytes)) return intake.call->fail(body_budget_exhausted());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto content =
        storage::Files(intake.context.store).read_content(intake.call->tenant(), parts[i].id);
    if (!content) return intake.call->fail(content.error());
    schemas::set_file_content(*parts[i].file, (*files)[i].name, base::base64_encode(*content));
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
  ChatIntake intake{.context = context,
                    .call = std::move(call),
                    .request = *std::move(request),
                    .key = *std::move(key),
                    .bytes = bytes};
  if (!may_name_files || schemas::file_parts(intake.request).empty()) return begin_chat(std::move(intake));
  intake.is_on_pool = true;
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
