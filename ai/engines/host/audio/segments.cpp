#include "ai/engines/host/audio/segments.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include <zlib.h>

#include "ai/engines/host/audio/loudness.h"

namespace millrace::engines::host {
namespace {

constexpr std::int64_t kPauseFrames = 50;
constexpr std::int64_t kLineFrames = 700;
constexpr std::size_t kLineCharacters = 80;

double seconds_at(std::int64_t frame, std::int64_t start_ms) {
  return static_cast<double>(start_ms + frame * kFrameMs) / 1000;
}

// "i", "i'm", "i'll": always capitalised.
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

bool paused(const RecognisedWord& before, const RecognisedWord& after) {
  return after.start - before.end >= kPauseFrames;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

constexpr std::string_view kClosing = "\"')]";

std::string_view without_closing_marks(std::string_view word) {
  while (!word.empty() && kClosing.find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return word;
}

bool ends_with_one_of(std::string_view word, std::initializer_list<std::string_view> signs) {
  word = without_closing_marks(word);
  return std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) { return word.ends_with(sign); });
}

// A letter beyond ASCII may be large.
bool begins_large(std::string_view word) {
  const auto first = word.find_first_not_of("\"'([");
  if (first == std::string_view::npos) return false;
  const char c = word[first];
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

// Titles and initials end with a full stop, but no sentence does.
bool is_abbreviation(std::string_view word) {
  constexpr std::string_view kTitles[] = {"Mr.", "Mrs.", "Ms.", "Dr.", "St.", "Prof.", "Mt.", "No."};
  return std::find(std::begin(kTitles), std::end(kTitles), word) != std::end(kTitles) || word.size() == 2;
}

bool ends_sentence(const RecognisedWord& word, const RecognisedWord& next) {
  if (ends_with_one_of(word.word, {"。", "！", "？"})) return true;
  if (!begins_large(next.word)) return false;
  return ends_with_one_of(word.word, {"!", "?"}) ||
         (ends_with_one_of(word.word, {"."}) && !is_abbreviation(word.word));
}

// How many of `words`, which are too many for a line, make up the next one: up to the last comma in the
// second half, if there is one.
std::size_t cut_at_comma(std::span<const RecognisedWord> words) {
  for (std::size_t count = words.size(); count > words.size() / 2; --count) {
    if (ends_with_one_of(words[count - 1].word, {",", ";", ":", "、", "，"})) return count;
  }
  return words.size();
}

// How many of `words` make up the next line.
std::size_t line_length(std::span<const RecognisedWord> words, WordStyle style) {
  const bool written = style == WordStyle::kWritten;
  std::size_t characters = characters_in(words.front().word);
  for (std::size_t at = 1; at < words.size(); ++at) {
    characters += 1 + characters_in(words[at].word);
    if (paused(words[at - 1], words[at])) return at;
    if (written && ends_sentence(words[at - 1], words[at])) return at;
    const bool long_enough = words[at].end - words.front().start > kLineFrames;
    if (!long_enough && characters <= kLineCharacters) continue;
    return written ? cut_at_comma(words.first(at)) : at;
  }
  return words.size();
}

schemas::TranscriptSegment segment_of(std::span<const RecognisedWord> words, WordStyle style,
                                      const std::vector<bool>& quiet, std::int64_t start_ms) {
  schemas::TranscriptSegment segment;
  const std::int64_t start = words.front().start;
  const std::int64_t end = words.back().end;
  for (const RecognisedWord& word : words) {
    if (!segment.text.empty()) segment.text += ' ';
    segment.text += word.word;
    if (style == WordStyle::kSpoken && is_i(word.word))
      segment.text[segment.text.size() - word.word.size()] = 'I';
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

schemas::TranscriptPiece piece_of(std::span<const RecognisedWord> words, WordStyle style,
                                  const std::vector<bool>& quiet, std::int64_t start_ms) {
  const bool spoken = style == WordStyle::kSpoken;
  schemas::TranscriptPiece piece;
  for (const RecognisedWord& word : words) {
    std::string text = word.word;
    if (spoken && is_i(text)) make_large(text);
    piece.words.push_back(
        {std::move(text), seconds_at(word.start, start_ms), seconds_at(word.end, start_ms)});
  }
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t count = line_length(words.subspan(at), style);
    schemas::TranscriptSegment segment = segment_of(words.subspan(at, count), style, quiet, start_ms);
    if (spoken && (at == 0 || paused(words[at - 1], words[at]))) make_large(segment.text);
    piece.segments.push_back(std::move(segment));
    at += count;
  }
  return piece;
}

}  // namespace millrace::engines::host
