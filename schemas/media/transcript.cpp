#include "schemas/media/transcript.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "schemas/json/json.h"
#include "schemas/json/json_body.h"

namespace millrace::schemas {
namespace {

// Only to_json writes pieces and results, so anything else means that the store is damaged.
base::Error unreadable_speech(std::string_view what) {
  return base::error(base::Code::kInternal, "the stored " + std::string(what) + " cannot be read");
}

Json segment_json(const TranscriptSegment& segment) {
  Json out{{"start", segment.start},
           {"end", segment.end},
           {"text", segment.text},
           {"seek", segment.seek},
           {"tokens", segment.tokens},
           {"temperature", segment.temperature},
           {"avg_logprob", segment.avg_logprob},
           {"compression_ratio", segment.compression_ratio},
           {"no_speech_prob", segment.no_speech_prob}};
  if (!segment.speaker.empty()) out["speaker"] = segment.speaker;
  if (segment.voice != TranscriptSegment::kNoVoice) out["voice"] = segment.voice;
  return out;
}

Json segments_json(const std::vector<TranscriptSegment>& segments) {
  Json list = Json::array();
  for (const TranscriptSegment& each : segments) list.push_back(segment_json(each));
  return list;
}

Json words_json(const std::vector<TranscriptWord>& words) {
  Json list = Json::array();
  for (const TranscriptWord& each : words)
    list.push_back({{"word", each.word}, {"start", each.start}, {"end", each.end}});
  return list;
}

// A number that JSON cannot represent was written as null.
double number(const Json& from, const char* name) {
  const Json& value = from.at(name);
  return value.is_null() ? 0 : value.get<double>();
}

std::vector<TranscriptSegment> segments_from(const Json& list) {
  std::vector<TranscriptSegment> out;
  out.reserve(list.size());
  for (const Json& from : list) {
    TranscriptSegment& segment = out.emplace_back();
    segment.start = number(from, "start");
    segment.end = number(from, "end");
    segment.text = from.at("text").get<std::string>();
    segment.seek = from.at("seek").get<std::int64_t>();
    segment.tokens = from.at("tokens").get<std::vector<std::int64_t>>();
    segment.temperature = number(from, "temperature");
    segment.avg_logprob = number(from, "avg_logprob");
    segment.compression_ratio = number(from, "compression_ratio");
    segment.no_speech_prob = number(from, "no_speech_prob");
    segment.speaker = from.value("speaker", std::string());
    segment.voice = from.value("voice", TranscriptSegment::kNoVoice);
  }
  return out;
}

std::vector<TranscriptWord> words_from(const Json& list) {
  std::vector<TranscriptWord> out;
  out.reserve(list.size());
  for (const Json& from : list)
    out.push_back({from.at("word").get<std::string>(), number(from, "start"), number(from, "end")});
  return out;
}

Json voices_json(const std::vector<Voice>& voices) {
  Json list = Json::array();
  for (const Voice& each : voices) list.push_back({{"seconds", each.seconds}, {"embedding", each.embedding}});
  return list;
}

// Empty: it has a number that JSON cannot represent.
std::vector<float> embedding_from(const Json& list) {
  std::vector<float> out;
  out.reserve(list.size());
  for (const Json& value : list) {
    if (value.is_null()) return {};
    out.push_back(value.get<float>());
  }
  return out;
}

std::vector<Voice> voices_from(const Json& list) {
  std::vector<Voice> out;
  for (const Json& from : list)
    out.push_back({embedding_from(from.at("embedding")), number(from, "seconds")});
  return out;
}

TranscriptPiece piece_from(const Json& from) {
  TranscriptPiece piece{segments_from(from.at("segments")), words_from(from.at("words")), std::nullopt};
  if (const auto error = from.find("error"); error != from.end()) {
    piece.error = base::error(base::code_named(error->at("code").get<std::string>()),
                              error->at("message").get<std::string>());
  }
  piece.language = from.value("language", std::string());
  if (const auto seconds = from.find("seconds"); seconds != from.end())
    piece.seconds = seconds->get<double>();
  if (const auto voices = from.find("voices"); voices != from.end()) piece.voices = voices_from(*voices);
  return piece;
}

TranscriptStyle style_from(const Json& from) {
  const auto form = transcript_format_named(from.at("form").get<std::string>());
  return {.form = form.value_or(TranscriptFormat::kJson),
          .translate = from.at("translate").get<bool>(),
          .segments = from.at("segments").get<bool>(),
          .words = from.at("words").get<bool>()};
}

Transcript transcript_from(const Json& from) {
  Transcript out;
  out.language = from.at("language").get<std::string>();
  if (const Json& seconds = from.at("seconds"); !seconds.is_null()) out.seconds = seconds.get<double>();
  out.text = from.at("text").get<std::string>();
  out.segments = segments_from(from.at("segments"));
  out.words = words_from(from.at("words"));
  return out;
}

std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

}  // namespace

std::string to_json(const TranscriptPiece& piece) {
  Json out{{"segments", segments_json(piece.segments)}, {"words", words_json(piece.words)}};
  if (piece.error)
    out["error"] = {{"code", base::name(piece.error->code)}, {"message", piece.error->message}};
  if (!piece.language.empty()) out["language"] = piece.language;
  if (piece.seconds) out["seconds"] = *piece.seconds;
  if (!piece.voices.empty()) out["voices"] = voices_json(piece.voices);
  return dump(out);
}

base::Result<TranscriptPiece> piece_from_json(std::string_view text) {
  try {
    return piece_from(Json::parse(text));
  } catch (const Json::exception&) {
    return unreadable_speech("piece of a recording");
  }
}

void add_words(std::string& text, std::string_view more) {
  more = without_spaces(more);
  if (!text.empty() && !more.empty()) text += ' ';
  text += more;
}

std::string text_of(const TranscriptPiece& piece) {
  std::string out;
  for (const TranscriptSegment& segment : piece.segments) add_words(out, segment.text);
  return out;
}

namespace {

// Of those that are detected; the first of equally many. Empty: none is.
std::string language_of_most(const std::vector<TranscriptPiece>& pieces) {
  std::map<std::string_view, int> counts;
  std::string_view most;
  for (const TranscriptPiece& piece : pieces) ++counts[piece.language];
  for (const TranscriptPiece& piece : pieces) {
    if (!piece.language.empty() && (most.empty() || counts[piece.language] > counts[most]))
      most = piece.language;
  }
  return std::string(most);
}

}  // namespace

Transcript join(const std::vector<TranscriptPiece>& pieces, std::string language,
                std::optional<double> seconds) {
  Transcript out{language_of_most(pieces), seconds, {}, {}, {}};
  if (out.language.empty()) out.language = std::move(language);
  for (const TranscriptPiece& piece : pieces) {
    if (piece.seconds) out.seconds = piece.seconds;
    add_words(out.text, text_of(piece));
    out.segments.insert(out.segments.end(), piece.segments.begin(), piece.segments.end());
    out.words.insert(out.words.end(), piece.words.begin(), piece.words.end());
  }
  return out;
}

std::string_view name(TranscriptFormat form) { return kTranscriptFormats[static_cast<std::size_t>(form)]; }

std::optional<TranscriptFormat> transcript_format_named(std::string_view name) {
  const auto found = std::find(kTranscriptFormats.begin(), kTranscriptFormats.end(), name);
  if (found == kTranscriptFormats.end()) return std::nullopt;
  return static_cast<TranscriptFormat>(found - kTranscriptFormats.begin());
}

std::string to_json(const Transcript& transcript, const TranscriptStyle& style) {
  return dump(Json{{"style",
                    {{"form", name(style.form)},
                     {"translate", style.translate},
                     {"segments", style.segments},
                     {"words", style.words}}},
                   {"language", transcript.language},
                   {"seconds", transcript.seconds ? Json(*transcript.seconds) : Json()},
                   {"text", transcript.text},
                   {"segments", segments_json(transcript.segments)},
                   {"words", words_json(transcript.words)}});
}

base::Result<StoredTranscript> stored_transcript(std::string_view text) {
  try {
    const Json from = Json::parse(text);
    return StoredTranscript{transcript_from(from), style_from(from.at("style"))};
  } catch (const Json::exception&) {
    return unreadable_speech("transcript");
  }
}

// The formats of a transcript.

namespace {

constexpr std::string_view kUnknownLanguage = "unknown";  // the field is required (spec)
constexpr double kTimeSteps = 1000;                       // times have a precision of one millisecond
constexpr double kMeasureSteps = 1e6;

double rounded(double value, double steps) {
  return std::isfinite(value) ? std::round(value * steps) / steps : 0;
}

Json spoken_words(const Transcript& transcript) {
  Json list = Json::array();
  for (const TranscriptWord& each : transcript.words) {
    list.push_back({{"word", each.word},
                    {"start", rounded(each.start, kTimeSteps)},
                    {"end", rounded(each.end, kTimeSteps)}});
  }
  return list;
}

Json spoken_segments(const Transcript& transcript) {
  Json list = Json::array();
  for (const TranscriptSegment& each : transcript.segments) {
    list.push_back({{"id", list.size()},
                    {"seek", each.seek},
                    {"start", rounded(each.start, kTimeSteps)},
                    {"end", rounded(each.end, kTimeSteps)},
                    {"text", each.text},
                    {"tokens", each.tokens},
                    {"temperature", rounded(each.temperature, kMeasureSteps)},
                    {"avg_logprob", rounded(each.avg_logprob, kMeasureSteps)},
                    {"compression_ratio", rounded(each.compression_ratio, kMeasureSteps)},
                    {"no_speech_prob", rounded(each.no_speech_prob, kMeasureSteps)}});
    if (!each.speaker.empty()) list.back()["speaker"] = each.speaker;
  }
  return list;
}

Json diarized_json(const TranscriptSegment& segment, std::size_t index) {
  return {{"type", "transcript.text.segment"},
          {"id", segment_id(index)},
          {"start", rounded(segment.start, kTimeSteps)},
          {"end", rounded(segment.end, kTimeSteps)},
          {"text", segment.text},
          {"speaker", segment.speaker}};
}

Json diarized_segments(const Transcript& transcript) {
  Json list = Json::array();
  for (const TranscriptSegment& each : transcript.segments) list.push_back(diarized_json(each, list.size()));
  return list;
}

std::string_view reported_language(const Transcript& transcript, const TranscriptStyle& style) {
  if (style.translate) return "english";
  return transcript.language.empty() ? kUnknownLanguage : std::string_view(transcript.language);
}

Json whole_reply(const Transcript& transcript, const TranscriptStyle& style, std::string_view model) {
  Json out{{"text", transcript.text},
           {"language", reported_language(transcript, style)},
           {"duration", transcript.seconds ? Json(rounded(*transcript.seconds, kTimeSteps)) : Json()}};
  if (const auto usage = transcript_usage(transcript); !usage.empty())
    out["usage"] = Json::parse(usage, nullptr, false);
  if (!model.empty()) out["model"] = model;
  if (style.form == TranscriptFormat::kJson) return out;
  out["task"] = style.translate ? "translate" : "transcribe";
  if (style.form == TranscriptFormat::kDiarizedJson) {
    out["segments"] = diarized_segments(transcript);
    return out;
  }
  if (style.segments) out["segments"] = spoken_segments(transcript);
  if (style.words) out["words"] = spoken_words(transcript);
  return out;
}

// "01:02:03,456"; `mark` precedes the milliseconds.
std::string clock_text(double seconds, char mark) {
  const auto ms = static_cast<long long>(std::llround(std::max(0.0, rounded(seconds, kTimeSteps)) * 1000));
  char text[40];
  const int size = std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld%c%03lld", ms / 3'600'000,
                                 ms / 60'000 % 60, ms / 1000 % 60, mark, ms % 1000);
  return std::string(text, static_cast<std::size_t>(size));
}

// A cue is one line; characters that would end it or begin a tag are replaced.
std::string cue_text(std::string_view text, bool is_vtt) {
  std::string out;
  for (const char c : text) {
    const bool at_start = out.empty();
    if (c == '\r' || c == '\n' || c == ' ') {
      if (!at_start && out.back() != ' ') out += ' ';
    } else if (is_vtt && (c == '&' || c == '<' || c == '>')) {
      out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;";
    } else if (c == '>' && out.ends_with("--")) {
      out.back() = '>';
    } else {
      out += c;
    }
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

// The lines of a transcript: its segments, or, without segments, one line with the whole text.
std::vector<TranscriptSegment> lines_of(const Transcript& transcript) {
  if (!transcript.segments.empty() || transcript.text.empty()) return transcript.segments;
  TranscriptSegment all;
  const double last_word = transcript.words.empty() ? 0 : transcript.words.back().end;
  all.end = transcript.seconds.value_or(last_word);
  all.text = transcript.text;
  return {std::move(all)};
}

// The speaker's name before the text of a cue: a voice span of WebVTT, or "A: ".
std::string cue_speaker(const TranscriptSegment& line, bool is_vtt) {
  const std::string name = cue_text(line.speaker, is_vtt);
  if (name.empty()) return {};
  return is_vtt ? "<v " + name + ">" : name + ": ";
}

std::string subtitles(const Transcript& transcript, bool is_vtt) {
  const char mark = is_vtt ? '.' : ',';
  std::string out = is_vtt ? "WEBVTT\n\n" : "";
  int count = 0;
  for (const TranscriptSegment& line : lines_of(transcript)) {
    if (!is_vtt) out += std::to_string(++count) + "\n";
    out += clock_text(line.start, mark) + " --> " + clock_text(std::max(line.start, line.end), mark) + "\n";
    out += cue_speaker(line, is_vtt) + cue_text(line.text, is_vtt) + "\n\n";
  }
  return out;
}

}  // namespace

std::string segment_id(std::size_t index) { return "seg_" + std::to_string(index); }

std::string diarized_segment(const TranscriptSegment& segment, std::size_t index) {
  return dump(diarized_json(segment, index));
}

bool has_speakers(const Transcript& transcript) {
  return std::any_of(transcript.segments.begin(), transcript.segments.end(),
                     [](const TranscriptSegment& each) { return !each.speaker.empty(); });
}

std::string transcript_usage(const Transcript& transcript) {
  if (!transcript.seconds || !std::isfinite(*transcript.seconds)) return {};
  const double begun = std::ceil(rounded(*transcript.seconds, kTimeSteps));
  return dump(Json{{"type", "duration"}, {"seconds", static_cast<std::int64_t>(begun)}});
}

std::string render(const Transcript& transcript, const TranscriptStyle& style, std::string_view model) {
  switch (style.form) {
    case TranscriptFormat::kText:
      return transcript.text + "\n";
    case TranscriptFormat::kSrt:
      return subtitles(transcript, false);
    case TranscriptFormat::kVtt:
      return subtitles(transcript, true);
    case TranscriptFormat::kJson:
    case TranscriptFormat::kVerboseJson:
    case TranscriptFormat::kDiarizedJson:
      break;
  }
  return dump(whole_reply(transcript, style, model));
}

std::string_view content_type(TranscriptFormat form) {
  const bool is_json = form == TranscriptFormat::kJson || form == TranscriptFormat::kVerboseJson ||
                       form == TranscriptFormat::kDiarizedJson;
  return is_json ? "application/json" : "text/plain; charset=utf-8";
}

}  // namespace millrace::schemas
