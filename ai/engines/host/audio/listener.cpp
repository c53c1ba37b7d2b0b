#include "ai/engines/host/audio/listener.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <pocketsphinx.h>
#include <sphinxbase/err.h>
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

// How many of `words` make up the next line.
std::size_t line_length(std::span<const RecognisedWord> words) {
  std::size_t characters = words.front().word.size();
  for (std::size_t at = 1; at < words.size(); ++at) {
    characters += 1 + words[at].word.size();
    const bool long_enough = words[at].end - words.front().start > kLineFrames;
    if (paused(words[at - 1], words[at]) || long_enough || characters > kLineCharacters) return at;
  }
  return words.size();
}

schemas::TranscriptSegment segment_of(std::span<const RecognisedWord> words, const std::vector<bool>& quiet,
                                      std::int64_t start_ms) {
  schemas::TranscriptSegment segment;
  const std::int64_t start = words.front().start;
  const std::int64_t end = words.back().end;
  for (const RecognisedWord& word : words) {
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

schemas::TranscriptPiece piece_of(std::span<const RecognisedWord> words, const std::vector<bool>& quiet,
                                  std::int64_t start_ms) {
  schemas::TranscriptPiece piece;
  for (const RecognisedWord& word : words) {
    std::string text = word.word;
    if (is_i(text)) make_large(text);
    piece.words.push_back(
        {std::move(text), seconds_at(word.start, start_ms), seconds_at(word.end, start_ms)});
  }
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t count = line_length(words.subspan(at));
    schemas::TranscriptSegment segment = segment_of(words.subspan(at, count), quiet, start_ms);
    if (at == 0 || paused(words[at - 1], words[at])) make_large(segment.text);
    piece.segments.push_back(std::move(segment));
    at += count;
  }
  return piece;
}

namespace {

using base::Code;

constexpr const char* kAcousticModel = "/usr/share/pocketsphinx/model/en-us/en-us";
constexpr const char* kLanguageModel = "/usr/share/pocketsphinx/model/en-us/en-us.lm.bin";
constexpr const char* kDictionary = "/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict";

struct FreeConfig {
  void operator()(cmd_ln_t* config) const { cmd_ln_free_r(config); }
};

// Silence removal is off, because removed silence would be missing from the times. 3,000 candidates per frame
// in place of 30,000 give the same words with four fifths of the work. A lower weight of the language model
// (6.5) corrects one wrong word in twenty; on real speech it makes no difference.
cmd_ln_t* settings() {
  return cmd_ln_init(nullptr, ps_args(), TRUE, "-hmm", kAcousticModel, "-lm", kLanguageModel, "-dict",
                     kDictionary, "-remove_silence", "no", "-maxhmmpf", "3000", "-lw", "5.5", nullptr);
}

// The recogniser writes silence, breath and noise in brackets.
bool is_noise(const std::string& word) {
  return word.empty() || word[0] == '<' || word[0] == '[' || word[0] == '+';
}

// "the(2)" is the word "the" in another pronunciation.
std::string without_variant(std::string word) {
  const auto bracket = word.find('(');
  if (bracket != std::string::npos && bracket > 0) word.resize(bracket);
  return word;
}

}  // namespace

void SpeechRecogniser::Free::operator()(ps_decoder_s* decoder) const { ps_free(decoder); }

base::Status SpeechRecogniser::ready() {
  if (decoder_) return {};
  err_set_logfp(nullptr);
  const std::unique_ptr<cmd_ln_t, FreeConfig> config(settings());
  if (config) decoder_.reset(ps_init(config.get()));
  if (decoder_) return {};
  return base::error(Code::kInternal,
                     "the recogniser's model is not installed: apt-get install pocketsphinx-en-us");
}

std::vector<RecognisedWord> SpeechRecogniser::words() const {
  std::vector<RecognisedWord> words;
  logmath_t* scale = ps_get_logmath(decoder_.get());
  for (ps_seg_t* at = ps_seg_iter(decoder_.get()); at != nullptr; at = ps_seg_next(at)) {
    const char* text = ps_seg_word(at);
    std::string word = without_variant(text == nullptr ? "" : text);
    if (is_noise(word)) continue;
    int first = 0, last = 0;
    ps_seg_frames(at, &first, &last);
    const double log_prob = logmath_log_to_ln(scale, ps_seg_prob(at, nullptr, nullptr, nullptr));
    words.push_back({std::move(word), first, std::int64_t{last} + 1, log_prob});
  }
  return words;
}

base::Result<std::vector<RecognisedWord>> SpeechRecogniser::recognise(std::span<const std::int16_t> samples) {
  if (auto status = ready(); !status) return std::move(status.error());
  ps_decoder_t* decoder = decoder_.get();
  const bool recognised = ps_start_stream(decoder) == 0 && ps_start_utt(decoder) == 0 &&
                          ps_process_raw(decoder, samples.data(), samples.size(), FALSE, TRUE) >= 0;
  if (ps_end_utt(decoder) != 0 || !recognised) {
    return base::error(Code::kPieceFailed, "the piece cannot be recognised");
  }
  return words();
}

}  // namespace millrace::engines::host
