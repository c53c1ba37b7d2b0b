#include "ai/inference/media/whole_request.h"

#include <utility>

#include "ai/inference/routing/routing.h"

namespace millrace::inference {

using providers::Target;

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

// Mock models do not transcribe (see `refusal`).
base::Status TranscriptionMediaRequest::mock(const Target& target, std::size_t) {
  return *providers::no_transcription(target);
}

}  // namespace millrace::inference
