#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"
#include "schemas/media/transcript.h"

namespace millrace::schemas {

inline constexpr std::int64_t kAudioBytesMax = 25ll << 20;  // of a recording; 413 (spec)

// The part of the form that is the recording: what errors about it name.
inline constexpr std::string_view kRecordingField = "file";

inline constexpr std::string_view kTranscriptionModel = "millrace/sphinx-en";

// A stretch of a recording that is recognised in one go: `index` counts them, times in milliseconds.
struct AudioPiece {
  int index = 0;
  std::int64_t start_ms = 0, end_ms = 0;
};

// What is kept of a transcription or translation in the job's spec; the recording is the job's input blob.
struct TranscriptionSpec {
  std::string model;      // as asked for
  std::string file_name;  // as the client named it: an upstream may go by its ending
  std::string language;   // ISO 639-1, or a name; empty: not said
  std::string prompt;
  std::optional<double> temperature;
  TranscriptStyle style;
  bool by_provider = false;  // a model of a provider hears it, not the local engine: said once, at intake
  // Set in a child: its share of the root's pieces, and the whole recording's length.
  std::vector<AudioPiece> pieces;
  std::int64_t recording_ms = 0;
  bool is_share() const { return !pieces.empty(); }
};
std::string to_json(const TranscriptionSpec& spec);
base::Result<TranscriptionSpec> transcription_spec_from_json(std::string_view json);

}  // namespace millrace::schemas
