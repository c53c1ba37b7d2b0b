#include "api/wrong_model.h"

#include <string>
#include <utility>

#include "schemas/ocr_request.h"
#include "schemas/speech.h"
#include "schemas/transcription_request.h"

namespace millrace::api {
namespace {

// Of the local engines, or of a provider.
bool is_some_model(const inference::Registry& registry, std::string_view name) {
  return schemas::is_local_ocr_model(name) || schemas::is_local_transcription_model(name) ||
         schemas::is_local_speech_model(name) || registry.look_up(name) != nullptr;
}

}  // namespace

base::Error of_wrong_model(const inference::Registry& registry, std::string_view asked, std::string_view work,
                           base::Error error) {
  if (error.code != base::Code::kModelNotFound || !is_some_model(registry, asked)) return error;
  std::string message = "model '";
  message.append(asked).append("' does not ").append(work);
  return base::error(base::Code::kBadRequest, std::move(message), "model");
}

schemas::Refusal of_wrong_model(const inference::Registry& registry, std::string_view asked,
                                std::string_view work, schemas::Refusal refusal) {
  return {of_wrong_model(registry, asked, work, std::move(refusal.error)), std::move(refusal.problems)};
}

}  // namespace millrace::api
