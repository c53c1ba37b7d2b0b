#include "ai/engines/host/audio/model_recogniser.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "ai/engines/host/audio/long_pauses.h"
#include "ai/engines/host/audio/loudness.h"
#include "ai/engines/host/audio/text_doubts.h"
#include "schemas/media/languages.h"

namespace millrace::engines::host {
namespace {

constexpr int kCutsMax = 2;                     // how often a doubted stretch is halved
constexpr std::int64_t kLoudWithoutText = 100;  // of a stretch whose text is empty; with more, it is doubted
constexpr std::int64_t kHalvedFrames = 400;     // a shorter stretch is not
constexpr std::size_t kFrameLength = static_cast<std::size_t>(kFrameMs) * kSamplesPerMs;

std::span<const std::int16_t> samples_in(const PieceSound& sound, std::int64_t first, std::int64_t last) {
  const auto from = std::min(static_cast<std::size_t>(first) * kFrameLength, sound.samples.size());
  const auto to = std::min(static_cast<std::size_t>(last) * kFrameLength, sound.samples.size());
  return sound.samples.subspan(from, to - from);
}

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + ' ') {
    if (c != ' ' && c != '\n' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

// Divides the loud frames from `first` to `last` among the words, by their lengths in bytes.
std::vector<RecognisedWord> with_estimated_times(const std::vector<std::string>& words,
                                                 const std::vector<bool>& quiet, std::int64_t first,
                                                 std::int64_t last) {
  std::vector<std::int64_t> loud;
  for (std::int64_t frame = first; frame < last; ++frame)
    if (!quiet[static_cast<std::size_t>(frame)]) loud.push_back(frame);
  if (loud.empty()) loud.push_back(first);
  std::size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size();
  const auto frame_at = [&](std::size_t done) {
    return loud[std::min(loud.size() - 1, loud.size() * done / bytes)];
  };
  std::vector<RecognisedWord> timed;
  std::size_t done = 0;
  for (const std::string& word : words) {
    const std::int64_t start = frame_at(done);
    done += word.size();
    timed.push_back({word, start, std::max(start + 1, frame_at(done)), 0});
  }
  return timed;
}

std::int64_t loud_frames(const std::vector<std::uint8_t>& levels, std::int64_t first, std::int64_t last) {
  const std::vector<bool> quiet = quiet_frames(levels);
  return std::count(quiet.begin() + first, quiet.begin() + last, false);
}

// Words without a sound, such as "...", have no length.
bool says_anything(const std::vector<RecognisedWord>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const RecognisedWord& word) { return word.end > word.start; });
}

// The words of other languages cannot be aligned. A model that translates writes English, but the sound is
// not.
bool is_english(const RecognisedText& text, const SpeechTaskOptions& options) {
  const auto names_english = [](const std::string& language) {
    return language == "en" || language == "<|en|>";
  };
  if (options.translate) return false;
  return names_english(options.language.empty() ? text.language : options.language);
}

}  // namespace

base::Result<ModelRecogniser::Part> ModelRecogniser::part_of(const PieceSound& sound, std::int64_t first,
                                                             std::int64_t last, const RecognisedText& text) {
  Part part{first, last, {}, false, false};
  const std::vector<std::string> words = words_in(text.text);
  if (words.empty()) {
    part.is_doubted = loud_frames(sound.levels, first, last) > kLoudWithoutText;
    return part;
  }
  if (options_.language.empty()) part.language = schemas::spoken_name(text.language);
  part.is_doubted = is_too_fast(words.size(), last - first) || repeats_itself(words);
  if (!part.is_doubted && is_english(text, options_)) {
    auto aligned = aligner_.align(samples_in(sound, first, last), text.text);
    if (!aligned && aligned.error().code == base::Code::kInternal) return std::move(aligned.error());
    part.is_timed = aligned.has_value();
    part.is_doubted = !part.is_timed;
    if (aligned && says_anything(*aligned)) part.words = *std::move(aligned);
    for (RecognisedWord& word : part.words) {
      word.start += first;
      word.end += first;
    }
  }
  if (!part.is_timed) part.words = with_estimated_times(words, quiet_frames(sound.levels), first, last);
  return part;
}

base::Status ModelRecogniser::read(const PieceSound& sound, std::int64_t first, std::int64_t last,
                                   int cuts_left, std::vector<Part>& parts) {
  auto text = library_.recognise(samples_in(sound, first, last), options_);
  if (!text) return std::move(text.error());
  auto part = part_of(sound, first, last, *text);
  if (!part) return std::move(part.error());
  if (!part->is_doubted || cuts_left == 0 || last - first < kHalvedFrames) {
    parts.push_back(*std::move(part));
    return {};
  }
  const std::int64_t quarter = (last - first) / 4;
  const auto middle = static_cast<std::int64_t>(quietest_place(
      sound.levels, static_cast<std::size_t>(first + quarter), static_cast<std::size_t>(last - quarter)));
  if (auto status = read(sound, first, middle, cuts_left - 1, parts); !status) return status;
  return read(sound, middle, last, cuts_left - 1, parts);
}

// The language of most of the sound; empty: the model detected none.
std::string ModelRecogniser::language_of(const std::vector<Part>& parts) {
  std::map<std::string, std::int64_t> frames;
  for (const Part& part : parts)
    if (!part.language.empty()) frames[part.language] += part.last - part.first;
  const auto most = std::ranges::max_element(frames, {}, [](const auto& each) { return each.second; });
  return most == frames.end() ? std::string() : most->first;
}

schemas::TranscriptPiece ModelRecogniser::joined(const PieceSound& sound, const std::vector<Part>& parts) {
  const std::vector<bool> quiet = quiet_frames(sound.levels);
  schemas::TranscriptPiece all;
  all.language = language_of(parts);
  for (const Part& part : parts) {
    schemas::TranscriptPiece piece = piece_of(part.words, WordStyle::kWritten, quiet, sound.start_ms);
    for (schemas::TranscriptSegment& segment : piece.segments) {
      if (part.is_doubted) {
        segment.avg_logprob = kDoubtedLogProb;
        segment.no_speech_prob = std::max(segment.no_speech_prob, kDoubtedNoSpeech);
      }
      all.segments.push_back(std::move(segment));
    }
    if (part.is_timed) std::move(piece.words.begin(), piece.words.end(), std::back_inserter(all.words));
  }
  return all;
}

base::Result<schemas::TranscriptPiece> ModelRecogniser::recognise(const PieceSound& sound) {
  const ShortenedSound shortened(sound.samples, sound.levels);
  const PieceSound without_pauses{shortened.samples(), shortened.levels(), sound.start_ms};
  std::vector<Part> parts;
  const auto frames = static_cast<std::int64_t>(without_pauses.levels.size());
  if (auto status = read(without_pauses, 0, frames, kCutsMax, parts); !status)
    return std::move(status.error());
  for (Part& part : parts) {
    for (RecognisedWord& word : part.words) {
      word.start = shortened.frame_before(word.start);
      word.end = std::max(word.start, shortened.frame_before(word.end - 1) + 1);
    }
  }
  return joined(sound, parts);
}

}  // namespace millrace::engines::host
