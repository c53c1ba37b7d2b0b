#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"
#include "schemas/key_access.h"
#include "schemas/media/local_transcription.h"
#include "schemas/media/speakers.h"
#include "schemas/media/transcript.h"

namespace millrace::schemas {

inline constexpr std::int64_t kAudioBytesMax = 25ll << 20;  // of a recording; above it: 413 (spec)

// The form field of the recording, for errors about it.
inline constexpr std::string_view kRecordingField = "file";

// A section of a recording that is recognised as a unit. `index` counts the pieces; times are in
// milliseconds.
struct AudioPiece {
  int index = 0;
  std::int64_t start_ms = 0, end_ms = 0;
};

// The part of a transcription or translation request that is stored in the job's spec. The recording is the
// job's input blob.
struct TranscriptionSpec {
  std::string model;      // as requested
  std::string file_name;  // as sent by the client; an upstream may use its extension
  std::string language;   // ISO 639-1; to a provider as requested; empty: not given
  std::string prompt;
  std::optional<double> temperature;
  SpeakerParameters speakers;
  TranscriptStyle style;
  bool by_provider = false;    // a provider's model transcribes it, not the local engine; fixed at submission
  std::string local_model;     // name of the local model, fixed at submission; empty: `by_provider`
  std::string model_language;  // ISO 639-1: the only language of the local model; empty: it knows several
  AllowList allowed_models;    // of the key, for fallbacks
  // Set for a child: its share of the root job's pieces, and the whole recording's length.
  std::vector<AudioPiece> pieces;
  std::int64_t recording_ms = 0;
  bool is_share() const { return !pieces.empty(); }
};
// Empties the references of speakers, which may be large.
std::string to_json(TranscriptionSpec&& spec);
std::string to_json(const TranscriptionSpec& spec);
base::Result<TranscriptionSpec> transcription_spec_from_json(std::string_view json);

// The language of the recording as far as the request and its model tell: of a local model, Whisper's name;
// of a provider's, as requested. Empty: not known.
std::string spoken_language(const TranscriptionSpec& spec);

}  // namespace millrace::schemas
