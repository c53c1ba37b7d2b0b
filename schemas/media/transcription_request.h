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

// The two endpoints that accept a recording.
enum class TranscriptionTask : std::uint8_t { kTranscribe, kTranslate };

// A validated form of POST /v1/audio/transcriptions or /v1/audio/translations (spec;
// docs/design/http-contract.md §5).
struct TranscriptionRequest {
  TranscriptionSpec spec;
  std::optional<base::Uuid> file;  // the recording is this file of /v1/files
  bool stream = false;
  bool deferred = false;
  std::optional<JobStart> start;  // then it is deferred, too
  std::string metadata;           // as JSON, for the job; empty: none
  bool needs_times = false;       // requested by timestamp_granularities
  DroppedParams dropped;          // unknown fields, and fields that this model does not support
};

// The models that a request may name.
struct TranscriptionModels {
  const LocalTranscriptionModels& local;
  // True if a provider's model serves the name, even if a local one does, too; null: there are none.
  std::function<bool(const std::string& model)> has_provider = {};
  // True if an error may suggest this local model; null: it may suggest each.
  std::function<bool(std::string_view name)> may_suggest = {};
};

// `pairs`: the form's fields without the file, in order. Errors: kInvalidField with its problems (a missing
// file is one, and a language that the local model does not know), kModelNotFound (names the nearest model,
// or what to do to have it).
tl::expected<TranscriptionRequest, Refusal> parse_transcription_request(TranscriptionTask task,
                                                                        QueryPairs pairs, bool has_file,
                                                                        const TranscriptionModels& models);

// A refusal if the request needs the speakers of the recording and its model does not tell them apart.
// `knows_speakers`: it does.
std::optional<Refusal> no_speakers(const TranscriptionRequest& request, bool knows_speakers);
// Removes the parameters that a model for speakers does not take, or that others do not, and adds them to
// `dropped`.
void drop_unsupported_speakers(const SpeakerSupport& support, TranscriptionRequest& request);

// The tables of the forms; OpenAPI's schemas are generated from them.
std::span<const Field> transcription_fields(TranscriptionTask task);

}  // namespace millrace::schemas
