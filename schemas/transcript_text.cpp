// How a transcript is told: the five forms of a reply.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "schemas/json_body.h"
#include "schemas/transcript.h"

namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::string_view kUnknownLanguage = "unknown";  // the field is required (spec)
constexpr double kTimeSteps = 1000;                       // times are told to the millisecond
constexpr double kMeasureSteps = 1e6;

double rounded(double value, double steps) {
  return std::isfinite(value) ? std::round(value * steps) / steps : 0;
}

json spoken_words(const Transcript& transcript) {
  json list = json::array();
  for (const SpokenWord& each : transcript.words) {
    list.push_back({{"word", each.word},
                    {"start", rounded(each.start, kTimeSteps)},
                    {"end", rounded(each.end, kTimeSteps)}});
  }
  return list;
}

json spoken_segments(const Transcript& transcript) {
  json list = json::array();
  for (const SpokenSegment& each : transcript.segments) {
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
  }
  return list;
}

std::string_view told_language(const Transcript& transcript, const TranscriptStyle& style) {
  if (style.translate) return "english";
  return transcript.language.empty() ? kUnknownLanguage : std::string_view(transcript.language);
}

json whole_reply(const Transcript& transcript, const TranscriptStyle& style, std::string_view model) {
  json out{{"text", transcript.text},
           {"language", told_language(transcript, style)},
           {"duration", transcript.seconds ? json(rounded(*transcript.seconds, kTimeSteps)) : json()}};
  if (const auto usage = transcript_usage(transcript); !usage.empty())
    out["usage"] = json::parse(usage, nullptr, false);
  if (!model.empty()) out["model"] = model;
  if (style.form != TranscriptForm::kVerboseJson) return out;
  out["task"] = style.translate ? "translate" : "transcribe";
  if (style.segments) out["segments"] = spoken_segments(transcript);
  if (style.words) out["words"] = spoken_words(transcript);
  return out;
}

// "01:02:03,456"; `mark` stands before the milliseconds.
std::string clock_text(double seconds, char mark) {
  const auto ms = static_cast<long long>(std::llround(std::max(0.0, rounded(seconds, kTimeSteps)) * 1000));
  char text[40];
  const int size = std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld%c%03lld", ms / 3'600'000,
                                 ms / 60'000 % 60, ms / 1000 % 60, mark, ms % 1000);
  return std::string(text, static_cast<std::size_t>(size));
}

// A cue is one line; what would end it, or begin a tag, is written otherwise.
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

// The lines of a transcript: its segments, else all of it as one.
std::vector<SpokenSegment> lines_of(const Transcript& transcript) {
  if (!transcript.segments.empty() || transcript.text.empty()) return transcript.segments;
  SpokenSegment all;
  const double last_word = transcript.words.empty() ? 0 : transcript.words.back().end;
  all.end = transcript.seconds.value_or(last_word);
  all.text = transcript.text;
  return {std::move(all)};
}

std::string subtitles(const Transcript& transcript, bool is_vtt) {
  const char mark = is_vtt ? '.' : ',';
  std::string out = is_vtt ? "WEBVTT\n\n" : "";
  int count = 0;
  for (const SpokenSegment& line : lines_of(transcript)) {
    if (!is_vtt) out += std::to_string(++count) + "\n";
    out += clock_text(line.start, mark) + " --> " + clock_text(std::max(line.start, line.end), mark) + "\n";
    out += cue_text(line.text, is_vtt) + "\n\n";
  }
  return out;
}

}  // namespace

std::string transcript_usage(const Transcript& transcript) {
  if (!transcript.seconds || !std::isfinite(*transcript.seconds)) return {};
  const double begun = std::ceil(rounded(*transcript.seconds, kTimeSteps));
  return dump(json{{"type", "duration"}, {"seconds", static_cast<std::int64_t>(begun)}});
}

std::string render(const Transcript& transcript, const TranscriptStyle& style, std::string_view model) {
  switch (style.form) {
    case TranscriptForm::kText:
      return transcript.text + "\n";
    case TranscriptForm::kSrt:
      return subtitles(transcript, false);
    case TranscriptForm::kVtt:
      return subtitles(transcript, true);
    case TranscriptForm::kJson:
    case TranscriptForm::kVerboseJson:
      break;
  }
  return dump(whole_reply(transcript, style, model));
}

std::string_view content_type(TranscriptForm form) {
  const bool is_json = form == TranscriptForm::kJson || form == TranscriptForm::kVerboseJson;
  return is_json ? "application/json" : "text/plain; charset=utf-8";
}

}  // namespace millrace::schemas
