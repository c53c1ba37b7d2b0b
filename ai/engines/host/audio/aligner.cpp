#include "ai/engines/host/audio/aligner.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <pocketsphinx.h>
#include <sphinxbase/err.h>

#include "ai/engines/host/audio/loudness.h"
#include "ai/engines/host/audio/pronouncer.h"
#include "ai/engines/host/audio/spoken_words.h"
#include "ai/engines/speech/recording.h"

namespace millrace::engines::host {
namespace {

using base::Code;

constexpr const char* kAlignerModel = "/usr/share/pocketsphinx/model/en-us/en-us";
constexpr const char* kAlignerDictionary = "/usr/share/pocketsphinx/model/en-us/cmudict-en-us.dict";
constexpr const char* kSearch = "align";
constexpr const char* kSilence = "<sil>";
constexpr float kSilenceProbability = 0.1F;
// Of a part of a word. The few are for a text of nothing but large numbers.
constexpr std::size_t kReadingsMany = 64, kReadingsFew = 4;
constexpr std::int64_t kPhoneFramesMin = 3;  // a phone has three states, each of a frame at least

struct FreeAlignerConfig {
  void operator()(cmd_ln_t* config) const { cmd_ln_free_r(config); }
};
struct FreeGrammar {
  void operator()(fsg_model_t* grammar) const { fsg_model_free(grammar); }
};
struct FreeText {
  void operator()(char* text) const { std::free(text); }  // NOLINT: allocated by PocketSphinx
};

// The scores of all states are computed ("-compallsen"), so that a score is relative to the best of them;
// else a silence over speech has no rival behind the last word, and the end of a text may be missing
// unnoticed. Two Gaussians instead of four, taken every other frame, halve the work and leave the times as
// they are. The fillers of the model (noise, speech) would hide words that the text leaves out, so only
// silence is used. Beams: with 1e-120, one right text in three finds no path in white noise of 5 dB.
cmd_ln_t* aligner_settings() {
  constexpr const char* kBeam = "1e-200";
  constexpr const char* kStatesPerFrame = "3000";
  return cmd_ln_init(nullptr, ps_args(), TRUE, "-hmm", kAlignerModel, "-dict", kAlignerDictionary,
                     "-remove_silence", "no", "-bestpath", "no", "-fsgusefiller", "no", "-lw", "1", "-wip",
                     "1", "-beam", kBeam, "-pbeam", kBeam, "-wbeam", kBeam, "-maxhmmpf", kStatesPerFrame,
                     "-compallsen", "yes", "-topn", "2", "-ds", "2", nullptr);
}

base::Error cannot_align(const std::string& why) {
  return base::error(Code::kPieceFailed, "the text cannot be aligned with the sound: " + why);
}

}  // namespace

void SpeechAligner::Free::operator()(ps_decoder_s* decoder) const { ps_free(decoder); }

base::Status SpeechAligner::ready() {
  if (decoder_ && added_ < kAddedWordsMax) return {};
  err_set_logfp(nullptr);
  decoder_.reset();
  added_ = 0;
  const std::unique_ptr<cmd_ln_t, FreeAlignerConfig> config(aligner_settings());
  if (config) decoder_.reset(ps_init(config.get()));
  if (decoder_) return {};
  return base::error(Code::kInternal,
                     "the aligner's model is not installed: apt-get install pocketsphinx-en-us");
}

// 0: the dictionary does not have the word.
std::size_t SpeechAligner::phones_of(const std::string& word) const {
  const std::unique_ptr<char, FreeText> phones(ps_lookup_word(decoder_.get(), word.c_str()));
  if (!phones) return 0;
  const std::string_view text(phones.get());
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ' '));
}

// Adds the word to the dictionary if it is missing. False: it cannot be pronounced.
bool SpeechAligner::knows(const std::string& word) {
  if (phones_of(word) > 0) return true;
  const std::string phones = pronounced(word);
  if (phones.empty() || ps_add_word(decoder_.get(), word.c_str(), phones.c_str(), FALSE) < 0) return false;
  ++added_;
  return true;
}

// Takes at most `readings_max` readings of a part.
WordGraph SpeechAligner::graph_of(std::span<const WrittenWord> words, std::size_t readings_max) {
  WordGraph graph;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const SpokenPart& part : words[i].parts) {
      std::vector<SpokenWords> readings;
      for (const SpokenWords& reading : part.readings) {
        if (readings.size() == readings_max) break;
        const bool known = std::all_of(reading.begin(), reading.end(),
                                       [this](const std::string& word) { return knows(word); });
        if (known) readings.push_back(reading);
      }
      graph.add(readings, i);
    }
  }
  return graph;
}

// The length of the shortest path.
std::int64_t SpeechAligner::frames_min(const WordGraph& graph) const {
  std::vector<std::int64_t> least(static_cast<std::size_t>(graph.states),
                                  std::numeric_limits<std::int64_t>::max());
  least[0] = 0;
  for (const WordGraph::Link& link : graph.links) {
    std::size_t phones = phones_of(link.word);
    for (int i = 2; const std::size_t other = phones_of(link.word + "(" + std::to_string(i) + ")"); ++i) {
      phones = std::min(phones, other);
    }
    auto& to = least[static_cast<std::size_t>(link.to)];
    const std::int64_t from = least[static_cast<std::size_t>(link.from)];
    to = std::min(to, from + kPhoneFramesMin * static_cast<std::int64_t>(phones));
  }
  return least[static_cast<std::size_t>(graph.last)];
}

// Makes the graph the grammar of the decoder, with silence in each state. PocketSphinx adds the
// pronunciations.
bool SpeechAligner::use(const WordGraph& graph) {
  const std::unique_ptr<fsg_model_t, FreeGrammar> grammar(
      fsg_model_init(kSearch, ps_get_logmath(decoder_.get()), 1, graph.states));
  grammar->start_state = 0;
  grammar->final_state = graph.last;
  for (const WordGraph::Link& link : graph.links) {
    const int word = fsg_model_word_add(grammar.get(), link.word.c_str());
    fsg_model_trans_add(grammar.get(), link.from, link.to, 0, word);
  }
  fsg_model_add_silence(grammar.get(), kSilence, -1, kSilenceProbability);
  return ps_set_fsg(decoder_.get(), kSearch, grammar.get()) == 0 &&
         ps_set_search(decoder_.get(), kSearch) == 0;
}

// Whether a path through the whole grammar was found.
bool SpeechAligner::decode(std::span<const std::int16_t> samples) {
  ps_decoder_t* decoder = decoder_.get();
  const bool processed = ps_start_stream(decoder) == 0 && ps_start_utt(decoder) == 0 &&
                         ps_process_raw(decoder, samples.data(), samples.size(), FALSE, TRUE) >= 0;
  int score = 0;
  return ps_end_utt(decoder) == 0 && processed && ps_get_hyp(decoder, &score) != nullptr;
}

std::vector<AlignedSound> SpeechAligner::sounds() const {
  // PocketSphinx reports a logarithm to its own base, shifted right by ten bits.
  const double unit = std::log(logmath_get_base(ps_get_logmath(decoder_.get()))) * 1024;
  std::vector<AlignedSound> sounds;
  for (ps_seg_t* at = ps_seg_iter(decoder_.get()); at != nullptr; at = ps_seg_next(at)) {
    int first = 0, last = 0, acoustic = 0, language = 0, back = 0;
    ps_seg_frames(at, &first, &last);
    ps_seg_prob(at, &acoustic, &language, &back);
    std::string word = ps_seg_word(at);
    word = word == kSilence ? std::string() : word.substr(0, word.find('('));
    sounds.push_back({std::move(word), first, std::int64_t{last} + 1, acoustic * unit});
  }
  return sounds;
}

base::Result<std::vector<RecognisedWord>> SpeechAligner::align(std::span<const std::int16_t> samples,
                                                               std::string_view text) {
  if (text.size() > kAlignedTextBytesMax) {
    return cannot_align("it has more than " + std::to_string(kAlignedTextBytesMax) +
                        " bytes (kAlignedTextBytesMax)");
  }
  if (samples.size() > kPieceMsMax * kSamplesPerMs) {
    return cannot_align("the sound is longer than " + std::to_string(kPieceMsMax) + " ms (kPieceMsMax)");
  }
  if (auto status = ready(); !status) return std::move(status.error());
  const std::vector<WrittenWord> written = written_words(text);
  WordGraph graph = graph_of(written, kReadingsMany);
  if (graph.states > kAlignedStatesMax) graph = graph_of(written, kReadingsFew);
  if (graph.links.empty()) {
    std::vector<RecognisedWord> words;
    for (const WrittenWord& word : written) words.push_back({word.written, 0, 0, 0});
    return words;
  }
  if (graph.states > kAlignedStatesMax) {
    return cannot_align("its grammar has more than " + std::to_string(kAlignedStatesMax) +
                        " states (kAlignedStatesMax)");
  }
  Loudness loudness;
  loudness.feed(samples);
  const std::vector<std::uint8_t> levels = loudness.levels();
  if (is_silence(levels)) return cannot_align("the sound is silent");
  if (frames_min(graph) > static_cast<std::int64_t>(levels.size()))
    return cannot_align("it has more words than can be said in this time");
  if (!use(graph)) return cannot_align("PocketSphinx refused its grammar");
  if (!decode(samples)) return cannot_align("not all of its words are in the sound");
  const std::vector<AlignedSound> found = sounds();
  if (!is_plausible(found)) return cannot_align("the sound has other words");
  std::vector<RecognisedWord> words = timed_words(graph, written, found);
  if (words.empty()) return base::error(Code::kInternal, "the aligned words are no path through the grammar");
  return words;
}

}  // namespace millrace::engines::host
