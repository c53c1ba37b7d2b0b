#include "api/model_request.h"

#include <array>
#include <utility>

#include "ai/inference/routing/routing.h"
#include "api/context.h"
#include "api/routing/list_query.h"
#include "schemas/media/ocr_request.h"
#include "schemas/media/speech.h"

namespace millrace::api {
namespace {

using schemas::Field;

struct ModelQuery {
  bool strict = false;
};
constexpr std::array kQueryFields{
    Field{.name = "strict",
          .type = schemas::FieldType::kBool,
          .text = "Respond with 400 if the provider does not support a parameter",
          .default_json = "false",
          .store = &schemas::store_in<ModelQuery, &ModelQuery::strict>},
};

// Whether it is a model of the local engines or of a provider.
bool is_some_model(const Context& context, std::string_view name) {
  return schemas::is_local_ocr_model(name) || context.options.transcription_models.find(name) != nullptr ||
         schemas::is_local_speech_model(name) || context.options.voice_models.find(name) != nullptr ||
         context.chat.registry()->look_up(name) != nullptr;
}

}  // namespace

std::span<const Field> model_query_fields() { return kQueryFields; }

base::Status check_model(const Call& call, std::string_view requested, std::string_view name) {
  if (inference::allows(call.principal->access.models, requested, name)) return {};
  return base::error(base::Code::kForbidden,
                     "The API key may not use the model '" + std::string(requested) + "'", "model");
}

std::optional<schemas::NanoUsd> amount(const inference::CostBound& bound) {
  if (!bound.unpriced.empty()) return std::nullopt;
  return bound.max;
}

std::optional<bool> read_strict(Call& call) {
  ModelQuery query;
  if (!read_query(call, kQueryFields, &query)) return std::nullopt;
  return query.strict;
}

base::Error wrong_model_error(const Context& context, std::string_view model, std::string_view work,
                              base::Error error) {
  if (error.code != base::Code::kModelNotFound || !is_some_model(context, model)) return error;
  std::string message = "model '";
  message.append(model).append("' does not ").append(work);
  return base::error(base::Code::kBadRequest, std::move(message), "model");
}

schemas::Refusal wrong_model_error(const Context& context, std::string_view model, std::string_view work,
                                   schemas::Refusal refusal) {
  return {wrong_model_error(context, model, work, std::move(refusal.error)), std::move(refusal.problems)};
}

}  // namespace millrace::api
