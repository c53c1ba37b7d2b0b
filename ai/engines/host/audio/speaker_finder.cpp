#include "ai/engines/host/audio/speaker_finder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <unistd.h>

#include "ai/engines/host/audio/library_run.h"
#include "ai/engines/speech/loadable_model.h"
#include "ai/engines/speech/recording.h"

#ifdef MILLRACE_HAS_SPEECH_ENGINE
#include <dlfcn.h>
#include <sherpa-onnx/c-api/c-api.h>
#endif

namespace millrace::engines::host {

SpeakerFinder::SpeakerFinder(SpeechLibrary& library) : library_(library) {}
SpeakerFinder::~SpeakerFinder() = default;

#ifdef MILLRACE_HAS_SPEECH_ENGINE

namespace {

using base::Code;

constexpr int kSpeakerSampleRate = 16'000;
constexpr float kFullScale = 32'768;
constexpr float kSoundSecondsMin = 0.3F;  // a shorter sound is nobody's
constexpr float kGapSecondsMin = 0.5F;    // a shorter pause does not end a turn
// How far apart two voices of one piece are: 1 less the cosine of the angle between them.
constexpr float kVoiceDistance = 0.4F;
constexpr double kVoiceSecondsMax = 20;  // of a speaker; the network's memory grows with it
constexpr char kModelsLoaded = 'L', kSpeakersFound = 'S';

// What the copy writes after kSpeakersFound: the counts, then the turns, then each voice.
struct Counts {
  std::int32_t turns = 0, voices = 0, dimensions = 0;
};

template <class T>
void write_values(int to, const T* values, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  write_all(to, {reinterpret_cast<const char*>(values), count * sizeof(T)});
}

// False: there are fewer bytes.
template <class T>
bool read_values(std::string_view& from, T* values, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (from.size() < count * sizeof(T)) return false;
  std::memcpy(values, from.data(), count * sizeof(T));
  from.remove_prefix(count * sizeof(T));
  return true;
}

bool read_speakers(std::string_view from, PieceSpeakers& speakers) {
  Counts counts;
  if (!read_values(from, &counts, 1)) return false;
  if (counts.turns < 0 || counts.voices < 0 || counts.dimensions <= 0) return false;
  if (from.size() < static_cast<std::size_t>(counts.turns) * sizeof(SpeakerTurn)) return false;
  speakers.turns.resize(static_cast<std::size_t>(counts.turns));
  if (!read_values(from, speakers.turns.data(), speakers.turns.size())) return false;
  for (std::int32_t voice = 0; voice < counts.voices; ++voice) {
    schemas::Voice& read = speakers.voices.emplace_back();
    if (from.size() < static_cast<std::size_t>(counts.dimensions) * sizeof(float)) return false;
    read.embedding.resize(static_cast<std::size_t>(counts.dimensions));
    if (!read_values(from, read.embedding.data(), read.embedding.size())) return false;
    if (!read_values(from, &read.seconds, 1)) return false;
  }
  return true;
}

std::vector<float> floats_of(std::span<const std::int16_t> samples) {
  std::vector<float> sound(samples.size());
  std::ranges::transform(samples, sound.begin(), [](std::int16_t each) { return each / kFullScale; });
  return sound;
}

// Where only this one speaks. `turns`: of all voices, by their beginnings.
std::vector<std::pair<double, double>> times_alone(const std::vector<SpeakerTurn>& turns, int voice) {
  std::vector<std::pair<double, double>> alone;
  for (const SpeakerTurn& turn : turns) {
    if (turn.voice != voice) continue;
    double start = turn.start;
    for (const SpeakerTurn& other : turns) {
      if (other.voice == voice || other.end <= start || other.start >= turn.end) continue;
      if (other.start > start) alone.emplace_back(start, other.start);
      start = std::max(start, other.end);
    }
    if (start < turn.end) alone.emplace_back(start, turn.end);
  }
  return alone;
}

double seconds_in(const std::vector<std::pair<double, double>>& times) {
  double seconds = 0;
  for (const auto& [start, end] : times) seconds += end - start;
  return seconds;
}

base::Error models_not_loaded() {
  return base::error(Code::kInternal, "the models of " + std::string(kSpeakersSetting) +
                                          " cannot be loaded: a file is damaged, or of another family");
}

}  // namespace

// The functions of sherpa-onnx that are used, and what the copy does with them.
struct SpeakerFinder::Functions {
  decltype(SherpaOnnxCreateOfflineSpeakerDiarization)* create = nullptr;
  decltype(SherpaOnnxOfflineSpeakerDiarizationProcess)* process = nullptr;
  decltype(SherpaOnnxOfflineSpeakerDiarizationResultGetNumSegments)* count = nullptr;
  decltype(SherpaOnnxOfflineSpeakerDiarizationResultSortByStartTime)* sorted = nullptr;
  decltype(SherpaOnnxCreateSpeakerEmbeddingExtractor)* create_extractor = nullptr;
  decltype(SherpaOnnxSpeakerEmbeddingExtractorDim)* dimensions = nullptr;
  decltype(SherpaOnnxSpeakerEmbeddingExtractorCreateStream)* create_stream = nullptr;
  decltype(SherpaOnnxOnlineStreamAcceptWaveform)* accept = nullptr;
  decltype(SherpaOnnxOnlineStreamInputFinished)* finish = nullptr;
  decltype(SherpaOnnxSpeakerEmbeddingExtractorIsReady)* is_ready = nullptr;
  decltype(SherpaOnnxSpeakerEmbeddingExtractorComputeEmbedding)* compute = nullptr;

  bool load(void* library) {
    bool has_all = true;
    const auto take = [&](const char* name, auto*& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      has_all = has_all && function != nullptr;
    };
    take("SherpaOnnxCreateOfflineSpeakerDiarization", create);
    take("SherpaOnnxOfflineSpeakerDiarizationProcess", process);
    take("SherpaOnnxOfflineSpeakerDiarizationResultGetNumSegments", count);
    take("SherpaOnnxOfflineSpeakerDiarizationResultSortByStartTime", sorted);
    take("SherpaOnnxCreateSpeakerEmbeddingExtractor", create_extractor);
    take("SherpaOnnxSpeakerEmbeddingExtractorDim", dimensions);
    take("SherpaOnnxSpeakerEmbeddingExtractorCreateStream", create_stream);
    take("SherpaOnnxOnlineStreamAcceptWaveform", accept);
    take("SherpaOnnxOnlineStreamInputFinished", finish);
    take("SherpaOnnxSpeakerEmbeddingExtractorIsReady", is_ready);
    take("SherpaOnnxSpeakerEmbeddingExtractorComputeEmbedding", compute);
    return has_all;
  }

  static SherpaOnnxSpeakerEmbeddingExtractorConfig embedding_settings(const char* model) {
    SherpaOnnxSpeakerEmbeddingExtractorConfig settings{};
    settings.model = model;
    settings.num_threads = 1;
    settings.provider = "cpu";
    return settings;
  }

  // The turns of speakers who are numbered from 0; the exit of the copy frees everything.
  std::vector<SpeakerTurn> turns_in(const SherpaOnnxOfflineSpeakerDiarization* model,
                                    std::span<const float> sound) const {
    std::vector<SpeakerTurn> turns;
    const auto* result = process(model, sound.data(), static_cast<std::int32_t>(sound.size()));
    if (result == nullptr) return turns;
    const std::int32_t found = count(result);
    const auto* segments = found > 0 ? sorted(result) : nullptr;
    const double end = static_cast<double>(sound.size()) / kSpeakerSampleRate;
    for (std::int32_t at = 0; segments != nullptr && at < found; ++at) {
      const SpeakerTurn turn{std::clamp<double>(segments[at].start, 0, end),
                             std::clamp<double>(segments[at].end, 0, end), segments[at].speaker};
      if (turn.end > turn.start) turns.push_back(turn);
    }
    return turns;
  }

  // Empty: the sound is too short, or the model gave no usable numbers.
  std::vector<float> embedding_of(const SherpaOnnxSpeakerEmbeddingExtractor* model,
                                  std::span<const float> sound,
                                  const std::vector<std::pair<double, double>>& times) const {
    const auto* stream = create_stream(model);
    if (stream == nullptr) return {};
    double left = kVoiceSecondsMax;
    for (const auto& [start, end] : times) {
      const double length = std::min(end - start, left);
      const auto first = std::min(static_cast<std::size_t>(start * kSpeakerSampleRate), sound.size());
      const auto size = std::min(static_cast<std::size_t>(length * kSpeakerSampleRate), sound.size() - first);
      accept(stream, kSpeakerSampleRate, sound.data() + first, static_cast<std::int32_t>(size));
      left -= length;
    }
    finish(stream);
    if (is_ready(model, stream) == 0) return {};
    const float* values = compute(model, stream);
    if (values == nullptr) return {};
    const std::span<const float> all(values, static_cast<std::size_t>(dimensions(model)));
    if (!std::ranges::all_of(all, [](float each) { return std::isfinite(each); })) return {};
    return {all.begin(), all.end()};
  }

  // Writes the turns, and the voices of those who speak in them.
  void write_speakers(int to, const SherpaOnnxSpeakerEmbeddingExtractor* model, std::span<const float> sound,
                      const std::vector<SpeakerTurn>& turns) const {
    PieceSpeakers speakers;
    std::map<int, int> numbers;  // by speaker; those without a voice are left out
    for (const SpeakerTurn& turn : turns) {
      if (numbers.contains(turn.voice)) continue;
      auto times = times_alone(turns, turn.voice);
      if (seconds_in(times) < kSoundSecondsMin) times = {{turn.start, turn.end}};
      if (speakers.voices.size() == kPieceVoicesMax) break;
      schemas::Voice voice{embedding_of(model, sound, times), seconds_in(times)};
      numbers[turn.voice] = voice.embedding.empty() ? -1 : static_cast<int>(speakers.voices.size());
      if (!voice.embedding.empty()) speakers.voices.push_back(std::move(voice));
    }
    for (SpeakerTurn turn : turns) {
      const auto number = numbers.find(turn.voice);
      if (number == numbers.end() || number->second < 0) continue;
      turn.voice = number->second;
      speakers.turns.push_back(turn);
    }
    const Counts counts{static_cast<std::int32_t>(speakers.turns.size()),
                        static_cast<std::int32_t>(speakers.voices.size()), dimensions(model)};
    write_all(to, {&kSpeakersFound, 1});
    write_values(to, &counts, 1);
    write_values(to, speakers.turns.data(), speakers.turns.size());
    for (const schemas::Voice& voice : speakers.voices) {
      write_values(to, voice.embedding.data(), voice.embedding.size());
      write_values(to, &voice.seconds, 1);
    }
    ::_exit(0);  // frees everything at once
  }
};

base::Status SpeakerFinder::load_functions() {
  const auto library = library_.handle();
  if (!library) return library.error();
  if (functions_) return {};
  auto functions = std::make_unique<Functions>();
  if (!functions->load(*library))
    return base::error(Code::kInternal, "the speech engine cannot tell speakers apart");
  functions_ = std::move(functions);
  return {};
}

namespace {

base::Result<PieceSpeakers> speakers_in(const CopyRun& run) {
  std::string_view output = run.output;
  if (output.empty() || output[0] != kModelsLoaded) return why_it_ended(run, models_not_loaded());
  output.remove_prefix(1);
  PieceSpeakers speakers;
  const bool is_whole = run.is_whole && !output.empty() && output[0] == kSpeakersFound;
  if (is_whole && read_speakers(output.substr(1), speakers)) return speakers;
  return why_it_ended(run, base::error(Code::kPieceFailed, "the models of " + std::string(kSpeakersSetting) +
                                                               " failed on the piece"));
}

}  // namespace

base::Result<PieceSpeakers> SpeakerFinder::find(const PieceSound& sound) {
  if (auto loaded = load_functions(); !loaded) return std::move(loaded.error());
  const auto run = library_.in_copy([&](int to) {
    SherpaOnnxOfflineSpeakerDiarizationConfig settings{};
    settings.segmentation.pyannote.model = library_.file(kSegmentationRole.data());
    settings.segmentation.num_threads = 1;
    settings.segmentation.provider = "cpu";
    settings.embedding = Functions::embedding_settings(library_.file(kEmbeddingRole.data()));
    settings.clustering.num_clusters = -1;  // as many as the voices show
    settings.clustering.threshold = kVoiceDistance;
    settings.min_duration_on = kSoundSecondsMin;
    settings.min_duration_off = kGapSecondsMin;
    const auto* model = functions_->create(&settings);
    const auto* extractor = functions_->create_extractor(&settings.embedding);
    if (model == nullptr || extractor == nullptr) return;
    write_all(to, {&kModelsLoaded, 1});
    const std::vector<float> samples = floats_of(sound.samples);
    functions_->write_speakers(to, extractor, samples, functions_->turns_in(model, samples));
  });
  if (!run) return run.error();
  auto speakers = speakers_in(*run);
  if (!speakers) return speakers;
  for (SpeakerTurn& turn : speakers->turns) {
    turn.start += static_cast<double>(sound.start_ms) / 1000;
    turn.end += static_cast<double>(sound.start_ms) / 1000;
  }
  return speakers;
}

base::Result<schemas::Voice> SpeakerFinder::voice_in(std::span<const std::int16_t> samples) {
  if (auto loaded = load_functions(); !loaded) return std::move(loaded.error());
  const auto run = library_.in_copy([&](int to) {
    const auto settings = Functions::embedding_settings(library_.file(kEmbeddingRole.data()));
    const auto* extractor = functions_->create_extractor(&settings);
    if (extractor == nullptr) return;
    write_all(to, {&kModelsLoaded, 1});
    const double end = static_cast<double>(samples.size()) / kSpeakerSampleRate;
    functions_->write_speakers(to, extractor, floats_of(samples), {{0, end, 0}});
  });
  if (!run) return run.error();
  auto speakers = speakers_in(*run);
  if (!speakers) return std::move(speakers.error());
  if (speakers->voices.empty()) return base::error(Code::kPieceFailed, "no voice can be found in it");
  return std::move(speakers->voices.front());
}

#else

struct SpeakerFinder::Functions {};

base::Result<PieceSpeakers> SpeakerFinder::find(const PieceSound&) { return library_.handle().error(); }
base::Result<schemas::Voice> SpeakerFinder::voice_in(std::span<const std::int16_t>) {
  return library_.handle().error();
}

#endif

base::Result<schemas::TranscriptPiece> RecogniserOfSpeakers::recognise(const PieceSound& sound) {
  voices_error_.reset();
  auto piece = texts_.recognise(sound);
  if (!piece || piece->segments.empty()) return piece;
  auto speakers = speakers_.find(sound);
  if (!speakers) {
    const base::Code code = speakers.error().code;
    if (code != base::Code::kPieceFailed && code != base::Code::kOutOfMemory)
      return std::move(speakers.error());
    voices_error_ = std::move(speakers.error());
    return piece;
  }
  set_voices(*piece, speakers->turns);
  piece->voices = std::move(speakers->voices);
  return piece;
}

base::Result<schemas::TranscriptPiece> RecogniserOfVoices::recognise(const PieceSound& sound) {
  auto voice = speakers_.voice_in(sound.samples);
  if (!voice) return std::move(voice.error());
  schemas::TranscriptPiece piece;
  piece.voices.push_back(*std::move(voice));
  return piece;
}

}  // namespace millrace::engines::host
