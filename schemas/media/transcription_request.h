#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "schemas/dropped.h"
#include "schemas/field.h"
#include "schemas/media/transcription.h"

namespace millrace::schemas {

// The names that the local engine answers to; the first is its own.
std::span<const std::string_view> transcription_model_names();
bool is_local_transcription_model(std::string_view name);  // one of them

// The two endpoints that take a recording.
enum class SpeechTask : std::uint8_t { kTranscribe, kTranslate };

// A form of POST /v1/audio/transcriptions or /v1/audio/translations, its fields checked (spec;
// docs/design/http-contract.md §5).
struct TranscriptionRequest {
  TranscriptionSpec spec;
  bool stream = false;
  bool deferred = false;
  bool needs_times = false;  // by timestamp_granularities
  DroppedParams dropped;     // fields that nobody knows, or that this model is not told
};

// `fields`: those of the form but for the file, in their order. Errors: kInvalidField with its problems
// (`has_file` false is one), kModelNotFound (names the nearest). `is_other`: whether a provider's model hears
// for this name, also for one that the local engine answers to; null: none does.
tl::expected<TranscriptionRequest, Refusal> parse_transcription_request(
    SpeechTask task, const QueryPairs& fields, bool has_file,
    const std::function<bool(const std::string& model)>& is_other = {});

// The tables of the forms: OpenAPI takes its schemas from them.
std::span<const Field> transcription_fields(SpeechTask task);

}  // namespace millrace::schemas
