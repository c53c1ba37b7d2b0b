#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::schemas {

// What was said, and when. Times are seconds from the beginning of the recording.
struct SpokenWord {
  std::string word;
  double start = 0, end = 0;
};

// A line of speech, as a subtitle shows it (spec, TranscriptionSegment). `id` is its place in the transcript.
struct SpokenSegment {
  double start = 0, end = 0;
  std::string text;
  std::int64_t seek = 0;
  std::vector<std::int64_t> tokens;
  double temperature = 0, avg_logprob = 0, compression_ratio = 0, no_speech_prob = 0;
};

// One piece of a recording, recognised: what a job stores as a part, in the order of the recording.
struct SpokenPiece {
  std::vector<SpokenSegment> segments;
  std::vector<SpokenWord> words;
  std::optional<base::Error> error;  // the piece could not be recognised; the rest is empty
  // Of a piece that is the whole recording, as a provider's model told it; else nothing.
  std::string language = {};
  std::optional<double> seconds = {};
};
std::string to_json(const SpokenPiece& piece);
base::Result<SpokenPiece> piece_from_json(std::string_view json);

// A whole recording, or what there is of it so far.
struct Transcript {
  std::string language;           // as Whisper names it: "english"; empty: not known
  std::optional<double> seconds;  // of the recording
  std::string text;
  std::vector<SpokenSegment> segments;  // empty: an upstream told none
  std::vector<SpokenWord> words;
};

// What a piece says: the text of its segments. `add_words` puts texts after each other, with one space
// between.
std::string text_of(const SpokenPiece& piece);
void add_words(std::string& text, std::string_view more);

// The pieces after each other, in their order; segments of pieces that failed are missing. What a piece says
// of the language and the length goes before what is given.
Transcript join(const std::vector<SpokenPiece>& pieces, std::string language, std::optional<double> seconds);

enum class TranscriptForm : std::uint8_t { kJson, kText, kSrt, kVtt, kVerboseJson };
inline constexpr std::array<std::string_view, 5> kTranscriptForms{"json", "text", "srt", "vtt",
                                                                  "verbose_json"};  // by their numbers
std::string_view name(TranscriptForm form);
std::optional<TranscriptForm> transcript_form_named(std::string_view name);

// How a transcript is to be told.
struct TranscriptStyle {
  TranscriptForm form = TranscriptForm::kJson;
  bool translate = false;  // verbose_json says task "translate", and the language is english
  bool segments = true;    // verbose_json: with its segments
  bool words = false;      // and with its words
};

// The body of the reply in that form, and its Content-Type (text/plain for text, srt and vtt). `model`: what
// was asked to hear it; empty: the reply does not say.
std::string render(const Transcript& transcript, const TranscriptStyle& style, std::string_view model = {});
std::string_view content_type(TranscriptForm form);

// `usage` of a reply, JSON: {type: "duration", seconds}, whole seconds begun; empty: the length is not known.
std::string transcript_usage(const Transcript& transcript);

// What a job of kind stt has as its result: the transcript and its style, so that a reader renders it.
std::string to_json(const Transcript& transcript, const TranscriptStyle& style);
struct StoredTranscript {
  Transcript transcript;
  TranscriptStyle style;
};
base::Result<StoredTranscript> stored_transcript(std::string_view json);

}  // namespace millrace::schemas
