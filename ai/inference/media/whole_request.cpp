#include "ai/inference/media/whole_request.h"

#include <cmath>
#include <utility>

#include "ai/inference/routing/routing.h"

namespace millrace::inference {

using providers::Target;

namespace {

constexpr double kTokensPerSecondMax = 50;  // of audio (Gemini: 32), and of the text that is spoken in it

}  // namespace

std::optional<schemas::Refusal> OcrMediaRequest::refusal(const ModelRow& row) const {
  if (reads_documents(row)) return std::nullopt;
  return schemas::Refusal{base::error(base::Code::kBadRequest,
                                      "model '" + row.target.name + "' does not read documents", "model"),
                          {}};
}

base::Result<providers::WireRequest> OcrMediaRequest::write(const Target& target, std::size_t) {
  return providers::ocr_request(target, call_);
}

base::Result<OcrMediaRequest::Answer> OcrMediaRequest::answer_in(const Target& target,
                                                                 const std::string& body) const {
  return providers::ocr_reply(target, body);
}

// The provider charges the requested pages; an image is one page.
Use OcrMediaRequest::pages() const {
  Use use;
  const bool is_image = call_.media_type.starts_with("image/");
  use.units.pages = is_image ? 1 : static_cast<std::int64_t>(call_.pages.size());
  if (!is_image && call_.pages.empty()) use.units.pages = schemas::kDocumentPagesMax;
  return use;
}

// Mock models do not read documents (see `refusal`).
base::Status OcrMediaRequest::mock(const Target& target, std::size_t) { return *providers::no_ocr(target); }

using providers::Target;

std::optional<schemas::Refusal> TranscriptionMediaRequest::refusal(const ModelRow& row) const {
  auto none =
      call_.translate ? providers::no_translation(row.target) : providers::no_transcription(row.target);
  if (none) return schemas::Refusal{*std::move(none), {}};
  if (transcribes(row)) return std::nullopt;
  return schemas::Refusal{
      base::error(base::Code::kBadRequest, "model '" + row.target.name + "' does not transcribe recordings",
                  "model"),
      {}};
}

base::Result<providers::WireRequest> TranscriptionMediaRequest::write(const Target& target, std::size_t) {
  return providers::transcription_request(target, call_);
}

base::Result<TranscriptionMediaRequest::Answer> TranscriptionMediaRequest::answer_in(
    const Target& target, const std::string& body) const {
  return providers::transcription_reply(target, body);
}

Use TranscriptionMediaRequest::used(std::size_t) const {
  Use use;
  use.usage.prompt = answer_.input_tokens;
  use.usage.completion = answer_.output_tokens;
  use.usage.total = use.usage.prompt + use.usage.completion;
  use.usage.estimated = use.usage.total == 0;
  use.units.audio_seconds = std::ceil(answer_.seconds.value_or(call_.seconds_max));
  return use;
}

Use TranscriptionMediaRequest::most(const Target&, std::size_t) const {
  Use most;
  most.units.audio_seconds = std::ceil(call_.seconds_max);
  const auto tokens = static_cast<std::int64_t>(most.units.audio_seconds * kTokensPerSecondMax);
  most.usage.prompt = tokens + static_cast<std::int64_t>(call_.prompt.size()) + kAddedTokensMax;
  most.usage.completion = tokens + kAddedTokensMax;
  return most;
}

// Mock models do not transcribe (see `refusal`).
base::Status TranscriptionMediaRequest::mock(const Target& target, std::size_t) {
  return *providers::no_transcription(target);
}

}  // namespace millrace::inference
