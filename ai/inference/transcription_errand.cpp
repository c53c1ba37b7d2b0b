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

std::size_t TranscriptionErrand::begin(const Target&) {
  transcript_ = {};
  return 1;
}

base::Result<providers::WireRequest> TranscriptionErrand::write(const Target& target, std::size_t) {
  return providers::transcription_request(target, order_);
}

base::Status TranscriptionErrand::read(const Target& target, std::size_t, std::string body) {
  auto transcript = providers::transcription_reply(target, body);
  if (!transcript) return transcript.error();
  transcript_ = *std::move(transcript);
  return {};
}

// The mock's models hear nothing (refusal).
base::Status TranscriptionErrand::mock(const Target& target, std::size_t) {
  return *providers::no_transcription(target);
}

void TranscriptionErrand::on_end(base::Result<MediaEnd> end) {
  if (!end) return done_(std::move(end.error()));
  TranscriptEnd told;
  static_cast<MediaEnd&>(told) = *std::move(end);
  told.transcript = std::move(transcript_);
  done_(std::move(told));
}

}  // namespace millrace::inference
