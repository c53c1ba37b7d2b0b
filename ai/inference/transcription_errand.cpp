#include "ai/inference/transcription_errand.h"

#include <utility>

#include "ai/inference/routing.h"

namespace millrace::inference {

using providers::Target;

std::optional<schemas::Refusal> TranscriptionErrand::refusal(const ModelRow& row) const {
  auto none =
      order_.translate ? providers::no_translation(row.target) : providers::no_transcription(row.target);
  if (none) return schemas::Refusal{*std::move(none), {}};
  if (hears(row)) return std::nullopt;
  return schemas::Refusal{base::error(base::Code::kBadRequest,
                                      "model '" + row.target.name + "' does not hear recordings", "model"),
                          {}};
}

base::Result<providers::WireRequest> TranscriptionErrand::write(const Target& target, std::size_t) {
  return providers::transcription_request(target, order_);
}

base::Result<TranscriptionErrand::Answer> TranscriptionErrand::answer_in(const Target& target,
                                                                         const std::string& body) const {
  return providers::transcription_reply(target, body);
}

// The mock's models hear nothing (refusal).
base::Status TranscriptionErrand::mock(const Target& target, std::size_t) {
  return *providers::no_transcription(target);
}

}  // namespace millrace::inference
