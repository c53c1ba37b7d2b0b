#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/field.h"
#include "schemas/json/json.h"

// Speakers of a recording: the parameters of OpenAI's transcriptions that tell them apart.
namespace millrace::schemas {

inline constexpr std::size_t kKnownSpeakersMax = 4;
inline constexpr std::int64_t kSpeakerNameMax = 128;  // bytes
// Bytes of a reference's text. In base64, 10 s of sound of 16 bits, mono, at 48 kHz fit.
inline constexpr std::size_t kSpeakerReferenceMax = 1536 * 1024;
inline constexpr double kSpeakerReferenceSecondsMin = 2, kSpeakerReferenceSecondsMax = 10;
inline constexpr std::int64_t kVadMillisecondsMax = 60'000;  // of prefix_padding_ms, silence_duration_ms

inline constexpr std::string_view kChunkingStrategy = "chunking_strategy";
inline constexpr std::string_view kKnownSpeakerNames = "known_speaker_names";
inline constexpr std::string_view kKnownSpeakerReferences = "known_speaker_references";

// Where a recording is cut. "auto", or voice activity detection with these values.
struct ChunkingStrategy {
  bool server_vad = false;
  std::optional<std::int64_t> prefix_padding_ms = {}, silence_duration_ms = {};
  std::optional<double> threshold = {};
};
// The form fields that carry it, as OpenAI's published clients write them: `chunking_strategy`, or
// `chunking_strategy[type]` and so on.
QueryPairs form_fields(const ChunkingStrategy& strategy);

struct SpeakerParameters {
  std::optional<ChunkingStrategy> chunking = {};
  // Of the same length: names, and the data URIs of recordings in which they speak.
  std::vector<std::string> names = {}, references = {};
};
// The members are added to `to`; those that are not given are left out.
void write_speakers(SpeakerParameters parameters, Json& to);
SpeakerParameters speakers_from(const Json& from);

// What a model can do with the speakers of a recording.
struct SpeakerSupport {
  bool speakers = false;        // it tells them apart
  bool known_speakers = false;  // it takes names and references
  bool chunking = false;        // it takes a chunking strategy
  bool language = true;         // it takes a language when it tells speakers apart
  bool prompt = true;           // it takes a prompt
};
SpeakerSupport operator&(const SpeakerSupport& a, const SpeakerSupport& b);

// Replaces fields such as `chunking_strategy[type]` by one field `chunking_strategy` with a JSON object.
void join_chunking_fields(QueryPairs& fields);

// For fields of a form, with `list` the list of their texts. They report problems to `reader`.
void read_chunking(FieldReader& reader, const Json& list, SpeakerParameters& to);
void read_speaker_names(FieldReader& reader, const Json& list, SpeakerParameters& to);
void read_speaker_references(FieldReader& reader, const Json& list, SpeakerParameters& to);

}  // namespace millrace::schemas
