#include "ai/engines/host/audio/listener.h"

#include <string>
#include <utility>

#include <pocketsphinx.h>
#include <sphinxbase/err.h>

#include "ai/engines/host/audio/loudness.h"

namespace millrace::engines::host {
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

base::Result<schemas::TranscriptPiece> SpeechRecogniser::recognise(const PieceSound& sound) {
  if (auto status = ready(); !status) return std::move(status.error());
  ps_decoder_t* decoder = decoder_.get();
  const bool recognised =
      ps_start_stream(decoder) == 0 && ps_start_utt(decoder) == 0 &&
      ps_process_raw(decoder, sound.samples.data(), sound.samples.size(), FALSE, TRUE) >= 0;
  if (ps_end_utt(decoder) != 0 || !recognised) {
    return base::error(Code::kPieceFailed, "the piece cannot be recognised");
  }
  return piece_of(words(), WordStyle::kSpoken, quiet_frames(sound.levels), sound.start_ms);
}

}  // namespace millrace::engines::host
