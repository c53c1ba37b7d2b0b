#include "ai/engines/host/segments.h"

#include <algorithm>
#include <cmath>

#include <zlib.h>

#include "ai/engines/host/loudness.h"

namespace millrace::engines::host {
namespace {

constexpr std::int64_t kPauseFrames = 50;
constexpr std::int64_t kLineFrames = 700;
constexpr std::size_t kLineCharacters = 80;

double seconds_at(std::int64_t frame, std::int64_t start_ms) {
  return static_cast<double>(start_ms + frame * kFrameMs) / 1000;
}

// "i", "i'm", "i'll".
bool is_i(const std::string& word) { return word == "i" || word.starts_with("i'"); }

void make_large(std::string& text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
}

double zlib_ratio(const std::string& text) {
  uLongf bytes = compressBound(static_cast<uLong>(text.size()));
  std::string packed(bytes, '\0');
  const auto* from = reinterpret_cast<const Bytef*>(text.data());
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &bytes, from, static_cast<uLong>(text.size())) !=
      Z_OK)
    return 1;
  return static_cast<double>(text.size()) / static_cast<double>(bytes);
}

double part_quiet(const std::vector<bool>& quiet, std::int64_t start, std::int64_t end) {
  const auto last = std::min<std::int64_t>(end, static_cast<std::int64_t>(quiet.size()));
  if (last <= start) return 0;
  const auto count = std::count(quiet.begin() + start, quiet.begin() + last, true);
  return static_cast<double>(count) / static_cast<double>(last - start);
}

bool paused(const HeardWord& before, const HeardWord& after) {
  return after.start - before.end >= kPauseFrames;
}

// How many of `words` make the next line.
std::size_t line_length(std::span<const HeardWord> words) {
  std::size_t characters = words.front().word.size();
  for (std::size_t at = 1; at < words.size(); ++at) {
    characters += 1 + words[at].word.size();
    const bool long_enough = words[at].end - words.front().start > kLineFrames;
    if (paused(words[at - 1], words[at]) || long_enough || characters > kLineCharacters) return at;
  }
  return words.size();
}

schemas::SpokenSegment segment_of(std::span<const HeardWord> words, const std::vector<bool>& quiet,
                                  std::int64_t start_ms) {
  schemas::SpokenSegment segment;
  const std::int64_t start = words.front().start;
  const std::int64_t end = words.back().end;
  for (const HeardWord& word : words) {
    if (!segment.text.empty()) segment.text += ' ';
    segment.text += word.word;
    if (is_i(word.word)) segment.text[segment.text.size() - word.word.size()] = 'I';
    segment.avg_logprob += word.log_prob / static_cast<double>(words.size());
  }
  segment.start = seconds_at(start, start_ms);
  segment.end = seconds_at(end, start_ms);
  segment.seek = start_ms / kFrameMs + start;
  segment.compression_ratio = zlib_ratio(segment.text);
  segment.no_speech_prob = part_quiet(quiet, start, end);
  return segment;
}

}  // namespace

schemas::SpokenPiece piece_of(std::span<const HeardWord> words, const std::vector<bool>& quiet,
                              std::int64_t start_ms) {
  schemas::SpokenPiece piece;
  for (const HeardWord& word : words) {
    std::string text = word.word;
    if (is_i(text)) make_large(text);
    piece.words.push_back(
        {std::move(text), seconds_at(word.start, start_ms), seconds_at(word.end, start_ms)});
  }
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t count = line_length(words.subspan(at));
    schemas::SpokenSegment segment = segment_of(words.subspan(at, count), quiet, start_ms);
    if (at == 0 || paused(words[at - 1], words[at])) make_large(segment.text);
    piece.segments.push_back(std::move(segment));
    at += count;
  }
  return piece;
}

}  // namespace millrace::engines::host
