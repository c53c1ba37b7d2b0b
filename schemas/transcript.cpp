#include "schemas/transcript.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "schemas/json_body.h"

namespace millrace::schemas {
namespace {

using nlohmann::json;

// Pieces and results are written by to_json alone: anything else in their place is a damaged store.
base::Error unreadable_speech(std::string_view what) {
  return base::error(base::Code::kInternal, "the stored " + std::string(what) + " cannot be read");
}

json segment_json(const SpokenSegment& segment) {
  return {{"start", segment.start},
          {"end", segment.end},
          {"text", segment.text},
          {"seek", segment.seek},
          {"tokens", segment.tokens},
          {"temperature", segment.temperature},
          {"avg_logprob", segment.avg_logprob},
          {"compression_ratio", segment.compression_ratio},
          {"no_speech_prob", segment.no_speech_prob}};
}

json segments_json(const std::vector<SpokenSegment>& segments) {
  json list = json::array();
  for (const SpokenSegment& each : segments) list.push_back(segment_json(each));
  return list;
}

json words_json(const std::vector<SpokenWord>& words) {
  json list = json::array();
  for (const SpokenWord& each : words)
    list.push_back({{"word", each.word}, {"start", each.start}, {"end", each.end}});
  return list;
}

// A number that JSON cannot say was written as null.
double number(const json& from, const char* name) {
  const json& value = from.at(name);
  return value.is_null() ? 0 : value.get<double>();
}

std::vector<SpokenSegment> segments_from(const json& list) {
  std::vector<SpokenSegment> out;
  out.reserve(list.size());
  for (const json& from : list) {
    SpokenSegment& segment = out.emplace_back();
    segment.start = number(from, "start");
    segment.end = number(from, "end");
    segment.text = from.at("text").get<std::string>();
    segment.seek = from.at("seek").get<std::int64_t>();
    segment.tokens = from.at("tokens").get<std::vector<std::int64_t>>();
    segment.temperature = number(from, "temperature");
    segment.avg_logprob = number(from, "avg_logprob");
    segment.compression_ratio = number(from, "compression_ratio");
    segment.no_speech_prob = number(from, "no_speech_prob");
  }
  return out;
}

std::vector<SpokenWord> words_from(const json& list) {
  std::vector<SpokenWord> out;
  out.reserve(list.size());
  for (const json& from : list)
    out.push_back({from.at("word").get<std::string>(), number(from, "start"), number(from, "end")});
  return out;
}

SpokenPiece piece_from(const json& from) {
  SpokenPiece piece{segments_from(from.at("segments")), words_from(from.at("words")), std::nullopt};
  if (const auto error = from.find("error"); error != from.end()) {
    piece.error = base::error(base::code_named(error->at("code").get<std::string>()),
                              error->at("message").get<std::string>());
  }
  piece.language = from.value("language", std::string());
  if (const auto seconds = from.find("seconds"); seconds != from.end())
    piece.seconds = seconds->get<double>();
  return piece;
}

TranscriptStyle style_from(const json& from) {
  const auto form = transcript_form_named(from.at("form").get<std::string>());
  return {.form = form.value_or(TranscriptForm::kJson),
          .translate = from.at("translate").get<bool>(),
          .segments = from.at("segments").get<bool>(),
          .words = from.at("words").get<bool>()};
}

Transcript transcript_from(const json& from) {
  Transcript out;
  out.language = from.at("language").get<std::string>();
  if (const json& seconds = from.at("seconds"); !seconds.is_null()) out.seconds = seconds.get<double>();
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

std::string to_json(const SpokenPiece& piece) {
  json out{{"segments", segments_json(piece.segments)}, {"words", words_json(piece.words)}};
  if (piece.error)
    out["error"] = {{"code", base::name(piece.error->code)}, {"message", piece.error->message}};
  if (!piece.language.empty()) out["language"] = piece.language;
  if (piece.seconds) out["seconds"] = *piece.seconds;
  return dump(out);
}

base::Result<SpokenPiece> piece_from_json(std::string_view text) {
  try {
    return piece_from(json::parse(text));
  } catch (const json::exception&) {
    return unreadable_speech("piece of a recording");
  }
}

void add_words(std::string& text, std::string_view more) {
  more = without_spaces(more);
  if (!text.empty() && !more.empty()) text += ' ';
  text += more;
}

std::string text_of(const SpokenPiece& piece) {
  std::string out;
  for (const SpokenSegment& segment : piece.segments) add_words(out, segment.text);
  return out;
}

Transcript join(const std::vector<SpokenPiece>& pieces, std::string language, std::optional<double> seconds) {
  Transcript out{std::move(language), seconds, {}, {}, {}};
  for (const SpokenPiece& piece : pieces) {
    if (!piece.language.empty()) out.language = piece.language;
    if (piece.seconds) out.seconds = piece.seconds;
    add_words(out.text, text_of(piece));
    out.segments.insert(out.segments.end(), piece.segments.begin(), piece.segments.end());
    out.words.insert(out.words.end(), piece.words.begin(), piece.words.end());
  }
  return out;
}

std::string_view name(TranscriptForm form) { return kTranscriptForms[static_cast<std::size_t>(form)]; }

std::optional<TranscriptForm> transcript_form_named(std::string_view name) {
  const auto found = std::find(kTranscriptForms.begin(), kTranscriptForms.end(), name);
  if (found == kTranscriptForms.end()) return std::nullopt;
  return static_cast<TranscriptForm>(found - kTranscriptForms.begin());
}

std::string to_json(const Transcript& transcript, const TranscriptStyle& style) {
  return dump(json{{"style",
                    {{"form", name(style.form)},
                     {"translate", style.translate},
                     {"segments", style.segments},
                     {"words", style.words}}},
                   {"language", transcript.language},
                   {"seconds", transcript.seconds ? json(*transcript.seconds) : json()},
                   {"text", transcript.text},
                   {"segments", segments_json(transcript.segments)},
                   {"words", words_json(transcript.words)}});
}

base::Result<StoredTranscript> stored_transcript(std::string_view text) {
  try {
    const json from = json::parse(text);
    return StoredTranscript{transcript_from(from), style_from(from.at("style"))};
  } catch (const json::exception&) {
    return unreadable_speech("transcript");
  }
}

}  // namespace millrace::schemas
