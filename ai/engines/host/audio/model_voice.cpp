#include "ai/engines/host/audio/model_voice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ai/engines/host/audio/encoder.h"
#include "ai/engines/host/audio/lexicon.h"
#include "ai/engines/host/audio/voice_text.h"
#include "ai/engines/layout/code_points.h"

#ifdef MILLRACE_HAS_SPEECH_ENGINE
#include <dlfcn.h>
#include <sherpa-onnx/c-api/c-api.h>
#endif

namespace millrace::engines::host {

ModelVoice::ModelVoice(SpeechLibrary& library) : library_(library) {}
ModelVoice::~ModelVoice() = default;

#ifdef MILLRACE_HAS_SPEECH_ENGINE

namespace {

using base::Code;

// As Piper's own program has them.
constexpr float kNoiseScale = 0.667F, kDurationNoiseScale = 0.8F;
constexpr int kPauseSamples = kSpeechRate / 5;         // between sentences
constexpr std::size_t kVoiceChunk = kSpeechRate / 10;  // samples per write to the encoder

// The memory for a sentence grows with the length of its sound: 300 characters at a quarter of the speed take
// 800 MB with a voice of medium quality.
constexpr double kVoiceSentenceMax = 200, kVoiceSentenceMin = 50;

std::size_t sentence_max(double speed) {
  return static_cast<std::size_t>(kVoiceSentenceMin +
                                  (kVoiceSentenceMax - kVoiceSentenceMin) * std::min(1.0, speed));
}

using TokenSet = std::set<char32_t>;

base::Error voice_not_loaded(const std::string& what) {
  return base::error(Code::kInternal, "the voice cannot be loaded: " + what);
}

// A line is a symbol of one character, a space and a number. The engine ends its process if one is not.
std::optional<char32_t> token_in(const std::string& line) {
  const std::vector<std::uint32_t> points = code_points(line);
  if (points.size() < 3 || points[1] != ' ') return std::nullopt;
  const bool is_number =
      std::all_of(points.begin() + 2, points.end(), [](std::uint32_t c) { return c >= '0' && c <= '9'; });
  if (!is_number) return std::nullopt;
  return static_cast<char32_t>(points[0]);
}

base::Result<TokenSet> read_tokens(const char* path) {
  TokenSet tokens;
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const auto token = token_in(line);
    if (!token || !tokens.insert(*token).second)
      return voice_not_loaded("line " + std::to_string(number) +
                              " of tokens.txt is not one of a Piper voice");
  }
  for (const char32_t needed : {U'_', U'^', U'$'}) {
    if (!tokens.contains(needed))
      return voice_not_loaded("tokens.txt has no " + std::string(1, static_cast<char>(needed)));
  }
  return tokens;
}

template <class Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

std::int16_t sample_of(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int16_t>(std::lround(std::clamp(value, -1.0F, 1.0F) * 32'767));
}

}  // namespace

struct ModelVoice::Functions {
  decltype(SherpaOnnxCreateOfflineTts)* create = nullptr;
  decltype(SherpaOnnxDestroyOfflineTts)* destroy = nullptr;
  decltype(SherpaOnnxOfflineTtsSampleRate)* sample_rate = nullptr;
  decltype(SherpaOnnxOfflineTtsGenerateWithConfig)* generate = nullptr;
  decltype(SherpaOnnxDestroyOfflineTtsGeneratedAudio)* destroy_audio = nullptr;
  decltype(SherpaOnnxCreateLinearResampler)* create_resampler = nullptr;
  decltype(SherpaOnnxDestroyLinearResampler)* destroy_resampler = nullptr;
  decltype(SherpaOnnxLinearResamplerResample)* resample = nullptr;
  decltype(SherpaOnnxLinearResamplerResampleFree)* free_resampled = nullptr;

  bool load(void* library) {
    return find_symbol(library, "SherpaOnnxCreateOfflineTts", create) &&
           find_symbol(library, "SherpaOnnxDestroyOfflineTts", destroy) &&
           find_symbol(library, "SherpaOnnxOfflineTtsSampleRate", sample_rate) &&
           find_symbol(library, "SherpaOnnxOfflineTtsGenerateWithConfig", generate) &&
           find_symbol(library, "SherpaOnnxDestroyOfflineTtsGeneratedAudio", destroy_audio) &&
           find_symbol(library, "SherpaOnnxCreateLinearResampler", create_resampler) &&
           find_symbol(library, "SherpaOnnxDestroyLinearResampler", destroy_resampler) &&
           find_symbol(library, "SherpaOnnxLinearResamplerResample", resample) &&
           find_symbol(library, "SherpaOnnxLinearResamplerResampleFree", free_resampled);
  }
};

struct ModelVoice::Voice {
  std::uint64_t generation = 0;
  TokenSet tokens;
  std::optional<Lexicon> lexicon;
  std::unique_ptr<const SherpaOnnxOfflineTts, void (*)(const SherpaOnnxOfflineTts*)> tts;
  std::unique_ptr<const SherpaOnnxLinearResampler, void (*)(const SherpaOnnxLinearResampler*)> resampler;
};

base::Status ModelVoice::load_functions() {
  if (functions_) return {};
  const auto library = library_.handle();
  if (!library) return library.error();
  auto functions = std::make_unique<Functions>();
  if (!functions->load(*library)) return voice_not_loaded("the speech engine cannot speak");
  functions_ = std::move(functions);
  return {};
}

base::Status ModelVoice::load() {
  if (voice_ && voice_->generation == library_.generation()) return {};
  voice_.reset();
  if (auto loaded = load_functions(); !loaded) return loaded;
  auto tokens = read_tokens(library_.file("tokens"));
  if (!tokens) return std::move(tokens.error());
  auto voice = std::make_unique<Voice>(Voice{library_.generation(),
                                             *std::move(tokens),
                                             std::nullopt,
                                             {nullptr, functions_->destroy},
                                             {nullptr, functions_->destroy_resampler}});
  const std::string lexicon_path = library_.file(kLexiconRole.data());
  if (!lexicon_path.empty()) {
    auto lexicon = Lexicon::read(lexicon_path);
    if (!lexicon) return std::move(lexicon.error());
    voice->lexicon = *std::move(lexicon);
  }
  // The lexicon stays out of these settings: the engine drops words that it lacks.
  SherpaOnnxOfflineTtsConfig settings{};
  settings.model.vits.model = library_.file("model");
  settings.model.vits.tokens = library_.file("tokens");
  settings.model.vits.noise_scale = kNoiseScale;
  settings.model.vits.noise_scale_w = kDurationNoiseScale;
  settings.model.vits.length_scale = 1;
  settings.model.num_threads = 1;
  settings.model.provider = "cpu";
  settings.max_num_sentences = 1;
  settings.silence_scale = 1;
  voice->tts.reset(functions_->create(&settings));
  if (!voice->tts) return voice_not_loaded("its model is damaged or of another family");
  const int rate = functions_->sample_rate(voice->tts.get());
  voice->resampler.reset(functions_->create_resampler(rate, kSpeechRate, 0, 0));
  if (!voice->resampler) return voice_not_loaded("its sample rate is " + std::to_string(rate) + " Hz");
  voice_ = std::move(voice);
  return {};
}

// One sentence. Phonemes that the voice does not have are left out.
base::Status ModelVoice::speak(const std::u32string& phonemes, const SpeechTask& task,
                               Encoder& encoder) const {
  std::vector<std::int32_t> points;
  for (const char32_t point : phonemes)
    if (voice_->tokens.contains(point)) points.push_back(static_cast<std::int32_t>(point));
  if (points.empty()) return {};
  const auto count = static_cast<std::int32_t>(points.size());
  SherpaOnnxGenerationConfig settings{};
  settings.silence_scale = 1;
  settings.speed = static_cast<float>(task.speed);
  settings.sid = task.speaker;
  settings.phoneme_codepoints = points.data();
  settings.phoneme_codepoints_lens = &count;
  settings.phoneme_codepoints_num_sentences = 1;
  const std::unique_ptr<const SherpaOnnxGeneratedAudio, decltype(functions_->destroy_audio)> audio(
      functions_->generate(voice_->tts.get(), "", &settings, nullptr, nullptr), functions_->destroy_audio);
  if (!audio || audio->samples == nullptr || audio->n <= 0)
    return base::error(Code::kInternal, "the voice returned no sound");
  const std::unique_ptr<const SherpaOnnxResampleOut, decltype(functions_->free_resampled)> sound(
      functions_->resample(voice_->resampler.get(), audio->samples, audio->n, 1), functions_->free_resampled);
  std::vector<std::int16_t> samples(static_cast<std::size_t>(sound->n));
  std::transform(sound->samples, sound->samples + sound->n, samples.begin(), sample_of);
  samples.resize(samples.size() + static_cast<std::size_t>(kPauseSamples / task.speed));
  for (std::span<const std::int16_t> rest(samples); !rest.empty();) {
    const auto some = rest.first(std::min(kVoiceChunk, rest.size()));
    if (auto written = encoder.write(some); !written) return written;
    rest = rest.subspan(some.size());
  }
  return {};
}

base::Status ModelVoice::synthesise(const SpeechTask& task, const SynthesisCallbacks& sink) {
  sink.sentence();
  if (auto loaded = load(); !loaded) return loaded;
  const auto sentences = phonemes_of(task.text, voice_->lexicon ? &*voice_->lexicon : nullptr,
                                     task.is_english, sentence_max(task.speed));
  if (!sentences) return sentences.error();
  auto encoder = make_encoder(task.encoding, sink.audio);
  if (!encoder) return std::move(encoder.error());
  for (const std::u32string& phonemes : *sentences) {
    sink.sentence();
    if (auto spoken = speak(phonemes, task, **encoder); !spoken) return spoken;
  }
  return (*encoder)->finish();
}

#else

struct ModelVoice::Functions {};
struct ModelVoice::Voice {};

base::Status ModelVoice::synthesise(const SpeechTask&, const SynthesisCallbacks&) {
  return library_.handle().error();
}

#endif

}  // namespace millrace::engines::host
