#include "tests/unit/engines/timed_speech.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include <flite/flite.h>

// Debian's headers do not declare them.
extern "C" {
cst_voice* register_cmu_us_slt(const char* folder);
cst_voice* register_cmu_us_rms(const char* folder);
cst_voice* register_cmu_us_awb(const char* folder);
}

namespace millrace::engines::host {
namespace {

constexpr double kRate = 16'000;

struct FreeUtterance {
  void operator()(cst_utterance* utterance) const { delete_utterance(utterance); }
};

cst_voice* voice_named(const std::string& name) {
  if (name == "slt") return register_cmu_us_slt(nullptr);
  if (name == "rms") return register_cmu_us_rms(nullptr);
  return name == "awb" ? register_cmu_us_awb(nullptr) : nullptr;
}

// Extends the time of a word by the sounds of one of its spoken words.
void extend(TimedSpeech::Word& word, const cst_item* spoken) {
  const cst_item* const syllables = item_as(spoken, "SylStructure");
  for (const cst_item* s = syllables == nullptr ? nullptr : item_daughter(syllables); s != nullptr;
       s = item_next(s)) {
    for (const cst_item* p = item_daughter(s); p != nullptr; p = item_next(p)) {
      const cst_item* const sound = item_as(p, "Segment");
      const cst_item* const before = item_prev(sound);
      if (word.end == 0) word.start = before == nullptr ? 0 : double{item_feat_float(before, "end")};
      word.end = double{item_feat_float(sound, "end")};
    }
  }
}

}  // namespace

TimedSpeech timed_speech(const std::vector<std::string>& sentences, const std::string& name) {
  flite_init();
  cst_voice* const voice = voice_named(name);
  TimedSpeech speech;
  if (voice == nullptr) return speech;
  for (const std::string& sentence : sentences) {
    const std::unique_ptr<cst_utterance, FreeUtterance> utterance(flite_synth_text(sentence.c_str(), voice));
    const double from = static_cast<double>(speech.samples.size()) / kRate;
    const cst_item* token = relation_head(utt_relation(utterance.get(), "Token"));
    for (; token != nullptr; token = item_next(token)) {
      TimedSpeech::Word word;
      for (const cst_item* w = item_daughter(token); w != nullptr; w = item_next(w)) extend(word, w);
      speech.words.push_back({from + word.start, from + word.end});
    }
    const cst_wave* const wave = utt_wave(utterance.get());
    speech.samples.insert(speech.samples.end(), wave->samples, wave->samples + wave->num_samples);
  }
  return speech;
}

void add_noise(std::vector<std::int16_t>& samples, double decibels) {
  double squares = 0;
  for (const std::int16_t sample : samples) squares += std::pow(sample, 2);
  const double level = std::sqrt(squares / static_cast<double>(samples.size())) / std::pow(10, decibels / 20);
  std::minstd_rand random(7);  // NOLINT: the same in each run
  for (std::int16_t& sample : samples) {
    const double unit = static_cast<double>(random()) / static_cast<double>(std::minstd_rand::max());
    const double noisy = sample + level * std::sqrt(12) * (unit - 0.5);
    sample = static_cast<std::int16_t>(std::clamp(noisy, -32768.0, 32767.0));
  }
}

}  // namespace millrace::engines::host
