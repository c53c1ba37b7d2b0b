#include "api/chat/chat_handlers.h"

#include <array>
#include <string>
#include <utility>

#include "api/call.h"
#include "api/chat/chat_answer.h"
#include "api/chat/chat_jobs.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/jobs/job_result.h"
#include "api/routing/list_query.h"
#include "platform/base/crypto.h"
#include "schemas/media/ocr_request.h"
#include "schemas/media/speech.h"
#include "schemas/media/transcription_request.h"

namespace millrace::api {
namespace {

using schemas::Field;

struct ChatQuery {
  bool strict = false;
};
constexpr std::array kQueryFields{
    Field{.name = "strict",
          .type = schemas::FieldType::kBool,
          .text = "Respond with 400 if the provider does not support a parameter",
          .default_json = "false",
          .store = &schemas::store_in<ChatQuery, &ChatQuery::strict>},
};

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

std::span<const Field> chat_query_fields() { return kQueryFields; }

std::optional<bool> read_strict(Call& call) {
  ChatQuery query;
  if (!read_query(call, kQueryFields, &query)) return std::nullopt;
  return query.strict;
}

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
  if (const base::Status good = context.chat.check(*request); !good)
    return call->fail(
        wrong_model_error(*context.chat.registry(), request->models.front(), "chat", good.error()));
  if (request->deferred) return defer_chat(context, call, *std::move(request), *std::move(key));
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

namespace {

// Whether it is a model of the local engines or of a provider.
bool is_some_model(const inference::Registry& registry, std::string_view name) {
  return schemas::is_local_ocr_model(name) || schemas::is_local_transcription_model(name) ||
         schemas::is_local_speech_model(name) || registry.look_up(name) != nullptr;
}

}  // namespace

base::Error wrong_model_error(const inference::Registry& registry, std::string_view model,
                              std::string_view work, base::Error error) {
  if (error.code != base::Code::kModelNotFound || !is_some_model(registry, model)) return error;
  std::string message = "model '";
  message.append(model).append("' does not ").append(work);
  return base::error(base::Code::kBadRequest, std::move(message), "model");
}

schemas::Refusal wrong_model_error(const inference::Registry& registry, std::string_view model,
                                   std::string_view work, schemas::Refusal refusal) {
  return {wrong_model_error(registry, model, work, std::move(refusal.error)), std::move(refusal.problems)};
}

}  // namespace millrace::api
