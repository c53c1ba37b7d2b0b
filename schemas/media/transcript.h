#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::schemas {

// A spoken word. Times are seconds from the beginning of the recording.
struct TranscriptWord {
  std::string word;
  double start = 0, end = 0;
};

// A segment of speech, as in a subtitle (spec, TranscriptionSegment). Its `id` is its index in the
// transcript.
struct TranscriptSegment {
  double start = 0, end = 0;
  std::string text;
  std::int64_t seek = 0;
  std::vector<std::int64_t> tokens;
  double temperature = 0, avg_logprob = 0, compression_ratio = 0, no_speech_prob = 0;
  std::string speaker = {};  // a known speaker's name, or a label such as "A"; empty: not known
  int voice = kNoVoice;      // index of the speaker's voice in TranscriptPiece::voices
  static constexpr int kNoVoice = -1;
};

// A voice as a model for speakers describes it: voices of one person point in nearly the same direction.
struct Voice {
  std::vector<float> embedding;
  double seconds = 0;  // of speech
};

// The recognised text of one piece of a recording. A job stores it as a part, in the recording's order.
struct TranscriptPiece {
  std::vector<TranscriptSegment> segments;
  std::vector<TranscriptWord> words;
  std::optional<base::Error> error;    // the piece could not be recognised; the rest is empty
  std::string language = {};           // as in Transcript, if the recogniser detected it
  std::optional<double> seconds = {};  // set only for a whole recording, from a provider's model
  std::vector<Voice> voices = {};      // of its speakers, if the local engine told them apart
};
std::string to_json(const TranscriptPiece& piece);
base::Result<TranscriptPiece> piece_from_json(std::string_view json);

// The transcript of a whole recording, or of the part that is recognised so far.
struct Transcript {
  std::string language;           // Whisper's name: "english"; empty: not known
  std::optional<double> seconds;  // of the recording
  std::string text;
  std::vector<TranscriptSegment> segments;  // empty: the upstream returned none
  std::vector<TranscriptWord> words;
  std::int64_t input_tokens = 0, output_tokens = 0;  // both 0: the upstream reported none
};

// The text of a piece's segments. `add_words` appends a text with one space in between.
std::string text_of(const TranscriptPiece& piece);
void add_words(std::string& text, std::string_view more);

// Joins the pieces in order; segments of failed pieces are missing. The language of most pieces and the
// length of a piece take precedence over the arguments.
Transcript join(const std::vector<TranscriptPiece>& pieces, std::string language,
                std::optional<double> seconds);

enum class TranscriptFormat : std::uint8_t { kJson, kText, kSrt, kVtt, kVerboseJson, kDiarizedJson };
inline constexpr std::array<std::string_view, 6> kTranscriptFormats{
    "json", "text", "srt", "vtt", "verbose_json", "diarized_json"};  // by the enum's values
// Those of translations.
inline constexpr std::span<const std::string_view> kTranslationFormats(kTranscriptFormats.data(), 5);
std::string_view name(TranscriptFormat form);
std::optional<TranscriptFormat> transcript_format_named(std::string_view name);

// The format of a transcript.
struct TranscriptStyle {
  TranscriptFormat form = TranscriptFormat::kJson;
  bool translate = false;  // verbose_json has task "translate" and language "english"
  bool segments = true;    // verbose_json includes segments
  bool words = false;      // verbose_json includes words
};

// A segment as diarized_json and streams have it (spec, TranscriptionDiarizedSegment): `type`
// transcript.text.segment, `id`, `start`, `end`, `text`, `speaker` (empty: not known). `index`: its index in
// the transcript.
std::string diarized_segment(const TranscriptSegment& segment, std::size_t index);
std::string segment_id(std::size_t index);
bool has_speakers(const Transcript& transcript);  // at least one segment has

// The response's body in that format, and its Content-Type (text/plain for text, srt and vtt). `model`: the
// requested model; empty: omitted from the response.
std::string render(const Transcript& transcript, const TranscriptStyle& style, std::string_view model = {});
std::string_view content_type(TranscriptFormat form);

// The response's `usage` as JSON: {type: "duration", seconds}, rounded up to whole seconds; empty: the length
// is not known.
std::string transcript_usage(const Transcript& transcript);

// The stored result of a job of kind stt: the transcript and its style; it is rendered when it is read.
std::string to_json(const Transcript& transcript, const TranscriptStyle& style);
struct StoredTranscript {
  Transcript transcript;
  TranscriptStyle style;
};
base::Result<StoredTranscript> stored_transcript(std::string_view json);

}  // namespace millrace::schemas
