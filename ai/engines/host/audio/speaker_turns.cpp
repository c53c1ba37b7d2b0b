#include "ai/engines/host/audio/speaker_turns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::engines::host {
namespace {

using schemas::TranscriptSegment;
using schemas::TranscriptWord;

constexpr double kSameTime = 0.001;  // seconds
constexpr double kSeekFramesPerSecond = 100;

double distance(const SpeakerTurn& turn, double start, double end) {
  return std::max({turn.start - end, start - turn.end, 0.0});
}

// Of two voices that speak for the same time, `previous` is preferred.
int voice_between(std::span<const SpeakerTurn> turns, double start, double end, int previous) {
  std::map<int, double> seconds;
  for (const SpeakerTurn& turn : turns) {
    const double both = std::min(turn.end, end) - std::max(turn.start, start);
    if (both > 0) seconds[turn.voice] += both;
  }
  const auto most = std::ranges::max_element(seconds, {}, [](const auto& each) { return each.second; });
  if (most == seconds.end())
    return std::ranges::min_element(turns, {}, [&](const auto& turn) { return distance(turn, start, end); })
        ->voice;
  const auto same = seconds.find(previous);
  return same != seconds.end() && same->second >= most->second ? previous : most->first;
}

std::vector<std::string_view> tokens_in(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<std::string_view> tokens;
  for (std::size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    tokens.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return tokens;
}

// The words of the segment, from `next` on, which is moved behind them.
std::span<const TranscriptWord> words_of(const TranscriptSegment& segment,
                                         std::span<const TranscriptWord> words, std::size_t& next) {
  while (next < words.size() && words[next].start < segment.start - kSameTime) ++next;
  const std::size_t first = next;
  while (next < words.size() && words[next].end <= segment.end + kSameTime) ++next;
  return words.subspan(first, next - first);
}

// The part of the segment with these of its tokens.
TranscriptSegment part_of(const TranscriptSegment& segment, std::span<const std::string_view> tokens,
                          std::span<const TranscriptWord> words, int voice) {
  TranscriptSegment part = segment;
  part.text.clear();
  for (const std::string_view token : tokens) part.text.append(part.text.empty() ? "" : " ").append(token);
  part.start = words.front().start;
  part.end = words.back().end;
  part.seek = std::llround(part.start * kSeekFramesPerSecond);
  part.voice = voice;
  return part;
}

void add_parts(const TranscriptSegment& segment, std::span<const TranscriptWord> words,
               std::span<const SpeakerTurn> turns, std::vector<TranscriptSegment>& parts) {
  const std::vector<std::string_view> tokens = tokens_in(segment.text);
  std::vector<int> voices;
  int voice = voice_between(turns, segment.start, segment.end, TranscriptSegment::kNoVoice);
  const bool can_be_cut = !words.empty() && tokens.size() == words.size();
  for (const TranscriptWord& word : words)
    voices.push_back(voice = voice_between(turns, word.start, word.end, voice));
  if (!can_be_cut || std::ranges::adjacent_find(voices, std::not_equal_to()) == voices.end()) {
    TranscriptSegment whole = segment;
    whole.voice = voice_between(turns, segment.start, segment.end, TranscriptSegment::kNoVoice);
    return parts.push_back(std::move(whole));
  }
  for (std::size_t at = 0; at < voices.size();) {
    const auto end = std::find_if(voices.begin() + static_cast<std::ptrdiff_t>(at), voices.end(),
                                  [&](int each) { return each != voices[at]; });
    const std::size_t count = static_cast<std::size_t>(end - voices.begin()) - at;
    parts.push_back(
        part_of(segment, std::span(tokens).subspan(at, count), words.subspan(at, count), voices[at]));
    at += count;
  }
}

}  // namespace

void set_voices(schemas::TranscriptPiece& piece, std::span<const SpeakerTurn> turns) {
  if (turns.empty()) return;
  std::vector<TranscriptSegment> parts;
  std::size_t next_word = 0;
  for (const TranscriptSegment& segment : piece.segments)
    add_parts(segment, words_of(segment, piece.words, next_word), turns, parts);
  piece.segments = std::move(parts);
}

}  // namespace millrace::engines::host
