#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "schemas/dropped.h"
#include "schemas/field.h"
#include "schemas/jobs/job_start.h"
#include "schemas/media/speakers.h"
#include "schemas/media/transcription.h"

namespace millrace::schemas {

// The model names that the local engine serves; the first is its real name.
std::span<const std::string_view> transcription_model_names();
bool is_local_transcription_model(std::string_view name);  // true: one of these names

// The two endpoints that accept a recording.
enum class TranscriptionTask : std::uint8_t { kTranscribe, kTranslate };

// A validated form of POST /v1/audio/transcriptions or /v1/audio/translations (spec;
// docs/design/http-contract.md §5).
struct TranscriptionRequest {
  TranscriptionSpec spec;
  bool stream = false;
  bool deferred = false;
  std::optional<JobStart> start;  // then it is deferred, too
  std::string metadata;           // as JSON, for the job; empty: none
  bool needs_times = false;       // requested by timestamp_granularities
  DroppedParams dropped;          // unknown fields, and fields that this model does not support
};

// `fields`: the form's fields without the file, in order. Errors: kInvalidField with its problems (a missing
// file is one), kModelNotFound (names the nearest model). `has_provider` returns true if a provider's model
// serves the name, even if the local engine serves it too; null: there are no such models.
tl::expected<TranscriptionRequest, Refusal> parse_transcription_request(
    TranscriptionTask task, const QueryPairs& fields, bool has_file,
    const std::function<bool(const std::string& model)>& has_provider = {});

// A refusal if the request needs the speakers of the recording and its model does not tell them apart.
// `knows_speakers`: it does.
std::optional<Refusal> no_speakers(const TranscriptionRequest& request, bool knows_speakers);
// Removes the parameters about speakers that the model does not take, and adds them to `dropped`.
void drop_unsupported_speakers(const SpeakerSupport& support, TranscriptionRequest& request);

// The tables of the forms; OpenAPI's schemas are generated from them.
std::span<const Field> transcription_fields(TranscriptionTask task);

}  // namespace millrace::schemas
