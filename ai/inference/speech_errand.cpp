#include "ai/inference/speech_errand.h"

#include <utility>

#include "ai/providers/speech.h"
#include "ai/providers/wire_words.h"

namespace millrace::inference {

using providers::Target;

std::optional<schemas::Refusal> SpeechErrand::refusal(const ModelRow& row) const {
  if (auto none = providers::no_speech(row.target)) return schemas::Refusal{*std::move(none), {}};
  return std::nullopt;
}

base::Result<providers::WireRequest> SpeechErrand::write(const Target& target, std::size_t) {
  return providers::speech_request(target, *request_);
}

base::Status SpeechErrand::read(const Target& target, std::size_t, std::string) {
  if (begun_) return {};
  return base::error(base::Code::kUpstream,
                     std::string(providers::shown_name(target)) + " answered without any sound");
}

// The mock's models do not speak (refusal).
base::Status SpeechErrand::mock(const Target& target, std::size_t) { return *providers::no_speech(target); }

base::Status SpeechErrand::on_bytes(const Target&, std::string_view bytes) {
  begun_ = true;
  if (sink_ != nullptr) sink_->on_audio(head_, std::string(bytes));
  return {};
}

schemas::ChatUsage SpeechErrand::usage(std::size_t part) const {
  schemas::ChatUsage usage;
  usage.estimated = true;
  usage.prompt = usage.total = tokens(part);
  return usage;
}

void SpeechErrand::on_end(base::Result<MediaEnd> end) {
  if (!end) return sink_->on_end(std::move(end.error()));
  SpeechEnd told;
  static_cast<MediaEnd&>(told) = *std::move(end);
  told.input_tokens = tokens(0);
  sink_->on_end(std::move(told));
}

}  // namespace millrace::inference
