#include "ai/engines/host/audio/speech_library.h"

#include <utility>
#include <vector>

#include "ai/engines/speech/speech_engine_folder.h"

#ifdef MILLRACE_HAS_SPEECH_ENGINE
#include <dlfcn.h>
#include <sherpa-onnx/c-api/c-api.h>
#endif

namespace millrace::engines::host {

void SpeechLibrary::open(SpeechModelLayout layout) {
  files_.clear();
  layout_ = layout;
  ++generation_;
}

void SpeechLibrary::add_file(const std::string& role, std::string path) { files_[role] = std::move(path); }

const char* SpeechLibrary::file(const char* role) const {
  const auto found = files_.find(std::string_view(role));
  return found == files_.end() ? "" : found->second.c_str();
}

#ifdef MILLRACE_HAS_SPEECH_ENGINE

namespace {

using base::Code;

constexpr int kSpeechSampleRate = 16'000;
constexpr int kFeatures = 80;
constexpr float kSampleScale = 32'768;

base::Error not_loaded(const std::string& what) {
  return base::error(Code::kInternal, "the speech engine cannot be loaded: " + what);
}

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

// The functions of sherpa-onnx that are used. The library stays loaded.
struct SpeechLibrary::Functions {
  decltype(SherpaOnnxGetVersionStr)* version = nullptr;
  decltype(SherpaOnnxCreateOfflineRecognizer)* create = nullptr;
  decltype(SherpaOnnxDestroyOfflineRecognizer)* destroy = nullptr;
  decltype(SherpaOnnxCreateOfflineStream)* create_stream = nullptr;
  decltype(SherpaOnnxDestroyOfflineStream)* destroy_stream = nullptr;
  decltype(SherpaOnnxAcceptWaveformOffline)* accept = nullptr;
  decltype(SherpaOnnxDecodeOfflineStream)* decode = nullptr;
  decltype(SherpaOnnxGetOfflineStreamResult)* result = nullptr;
  decltype(SherpaOnnxDestroyOfflineRecognizerResult)* destroy_result = nullptr;

  // False: the library does not have one of them.
  bool load(void* library) {
    return find(library, "SherpaOnnxGetVersionStr", version) &&
           find(library, "SherpaOnnxCreateOfflineRecognizer", create) &&
           find(library, "SherpaOnnxDestroyOfflineRecognizer", destroy) &&
           find(library, "SherpaOnnxCreateOfflineStream", create_stream) &&
           find(library, "SherpaOnnxDestroyOfflineStream", destroy_stream) &&
           find(library, "SherpaOnnxAcceptWaveformOffline", accept) &&
           find(library, "SherpaOnnxDecodeOfflineStream", decode) &&
           find(library, "SherpaOnnxGetOfflineStreamResult", result) &&
           find(library, "SherpaOnnxDestroyOfflineRecognizerResult", destroy_result);
  }
};

struct SpeechLibrary::Model {
  std::unique_ptr<const SherpaOnnxOfflineRecognizer, void (*)(const SherpaOnnxOfflineRecognizer*)> recogniser;
};

SpeechLibrary::SpeechLibrary() = default;
SpeechLibrary::~SpeechLibrary() = default;

base::Status SpeechLibrary::load_library() {
  if (functions_) return {};
  // The runtime first: the library finds it by its name, not in the folder of the process.
  if (::dlopen(file("runtime"), RTLD_NOW | RTLD_GLOBAL) == nullptr) return not_loaded(::dlerror());
  void* library = ::dlopen(file("library"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return not_loaded(::dlerror());
  auto functions = std::make_unique<Functions>();
  const bool complete = functions->load(library);
  const std::string version = functions->version == nullptr ? "unknown" : functions->version();
  if (!complete || version != kSpeechEngineVersion)
    return not_loaded("sherpa-onnx has version " + version + ", this program needs " +
                      std::string(kSpeechEngineVersion));
  functions_ = std::move(functions);
  handle_ = library;
  return {};
}

base::Result<void*> SpeechLibrary::handle() {
  if (auto loaded = load_library(); !loaded) return std::move(loaded.error());
  return handle_;
}

namespace {

// The recogniser's settings: one thread, the most probable token at each step.
SherpaOnnxOfflineRecognizerConfig speech_settings(const char* tokens) {
  SherpaOnnxOfflineRecognizerConfig settings{};
  settings.feat_config = {kSpeechSampleRate, kFeatures};
  settings.decoding_method = "greedy_search";
  settings.model_config.tokens = tokens;
  settings.model_config.num_threads = 1;
  settings.model_config.provider = "cpu";
  return settings;
}

}  // namespace

base::Result<SpeechLibrary::Model> SpeechLibrary::load_model(const SpeechTaskOptions& options) const {
  SherpaOnnxOfflineRecognizerConfig settings = speech_settings(file("tokens"));
  SherpaOnnxOfflineModelConfig& model = settings.model_config;
  switch (layout_) {
    case SpeechModelLayout::kMoonshineMerged:
    case SpeechModelLayout::kMoonshineSplit:
      model.moonshine = {file("preprocessor"), file("encoder"), file("uncached_decoder"),
                         file("cached_decoder"), file("merged_decoder")};
      break;
    case SpeechModelLayout::kWhisper:
      model.whisper.encoder = file("encoder");
      model.whisper.decoder = file("decoder");
      model.whisper.language = options.language.c_str();
      model.whisper.task = options.translate ? "translate" : "transcribe";
      break;
    case SpeechModelLayout::kSenseVoice:
      model.sense_voice = {file("model"), options.language.c_str(), 1};
      break;
    case SpeechModelLayout::kNemoTransducer:
      model.model_type = "nemo_transducer";
      [[fallthrough]];
    case SpeechModelLayout::kTransducer:
      model.transducer = {file("encoder"), file("decoder"), file("joiner")};
      break;
    case SpeechModelLayout::kNemoCtc:
      model.nemo_ctc.model = file("model");
      break;
    case SpeechModelLayout::kVoice:
      return base::error(Code::kInternal, "the model is a voice: it cannot transcribe");
  }
  Model loaded{{functions_->create(&settings), functions_->destroy}};
  if (loaded.recogniser) return loaded;
  return base::error(Code::kInternal, "the model " + std::string(file("tokens")) +
                                          " and the files beside it cannot be loaded: they are damaged or of "
                                          "another family");
}

base::Result<RecognisedText> SpeechLibrary::recognise(std::span<const std::int16_t> samples,
                                                      const SpeechTaskOptions& options) {
  if (auto loaded = load_library(); !loaded) return std::move(loaded.error());
  const auto model = load_model(options);
  if (!model) return model.error();
  std::vector<float> sound(samples.size());
  for (std::size_t at = 0; at < samples.size(); ++at) sound[at] = samples[at] / kSampleScale;
  const std::unique_ptr<const SherpaOnnxOfflineStream, decltype(functions_->destroy_stream)> stream(
      functions_->create_stream(model->recogniser.get()), functions_->destroy_stream);
  if (!stream) return base::error(Code::kPieceFailed, "the piece cannot be recognised");
  functions_->accept(stream.get(), kSpeechSampleRate, sound.data(), static_cast<std::int32_t>(sound.size()));
  functions_->decode(model->recogniser.get(), stream.get());
  const std::unique_ptr<const SherpaOnnxOfflineRecognizerResult, decltype(functions_->destroy_result)> result(
      functions_->result(stream.get()), functions_->destroy_result);
  if (!result || result->text == nullptr)
    return base::error(Code::kPieceFailed, "the piece cannot be recognised");
  return RecognisedText{result->text, result->lang == nullptr ? "" : result->lang};
}

#else

struct SpeechLibrary::Functions {};
struct SpeechLibrary::Model {};
SpeechLibrary::SpeechLibrary() = default;
SpeechLibrary::~SpeechLibrary() = default;

namespace {

base::Error no_engine() {
  return base::error(base::Code::kInternal,
                     "millrace-engine was built without the speech engine: run scripts/setup, then "
                     "scripts/build");
}

}  // namespace

base::Result<RecognisedText> SpeechLibrary::recognise(std::span<const std::int16_t>,
                                                      const SpeechTaskOptions&) {
  return no_engine();
}

base::Result<void*> SpeechLibrary::handle() { return no_engine(); }

#endif

}  // namespace millrace::engines::host
