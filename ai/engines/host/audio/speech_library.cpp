#include "ai/engines/host/audio/speech_library.h"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include "ai/engines/host/audio/library_run.h"
#include "ai/engines/host/cpu_limit.h"
#include "ai/engines/host/tool.h"
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
constexpr char kLoaded = 'L', kRecognised = 'T';

base::Error not_loaded(const std::string& what, std::string details = {}) {
  base::Error error = base::error(Code::kInternal, "the speech engine cannot be loaded: " + what);
  error.details = std::move(details);
  return error;
}

constexpr const char* kLibraryDamaged = "its files are damaged, or for another system";

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

  // The name of the first function that the library does not have; nullptr: it has all.
  const char* load(void* library) {
    const char* missing = nullptr;
    const auto take = [&](const char* name, auto*& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      if (function == nullptr && missing == nullptr) missing = name;
    };
    take("SherpaOnnxGetVersionStr", version);
    take("SherpaOnnxCreateOfflineRecognizer", create);
    take("SherpaOnnxDestroyOfflineRecognizer", destroy);
    take("SherpaOnnxCreateOfflineStream", create_stream);
    take("SherpaOnnxDestroyOfflineStream", destroy_stream);
    take("SherpaOnnxAcceptWaveformOffline", accept);
    take("SherpaOnnxDecodeOfflineStream", decode);
    take("SherpaOnnxGetOfflineStreamResult", result);
    take("SherpaOnnxDestroyOfflineRecognizerResult", destroy_result);
    return missing;
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
  if (::dlopen(file("runtime"), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    return not_loaded(kLibraryDamaged, ::dlerror());
  void* library = ::dlopen(file("library"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return not_loaded(kLibraryDamaged, ::dlerror());
  auto functions = std::make_unique<Functions>();
  const char* missing = functions->load(library);
  const std::string version = functions->version == nullptr ? "unknown" : functions->version();
  if (version != kSpeechEngineVersion)
    return not_loaded("sherpa-onnx has version " + version + ", this program needs " +
                      std::string(kSpeechEngineVersion));
  if (missing != nullptr) return not_loaded("sherpa-onnx has no function " + std::string(missing));
  functions_ = std::move(functions);
  handle_ = library;
  return {};
}

// A damaged library ends the process that loads it, so a copy of this one loads it first.
base::Status SpeechLibrary::load_library_safely() {
  if (functions_) return {};
  const auto run = in_copy([this](int to) {
    if (const base::Status loaded = load_library(); !loaded)
      write_all(to, loaded.error().message + '\0' + loaded.error().details);
  });
  if (!run) return run.error();
  if (const std::size_t end = run->output.find('\0'); end != std::string::npos) {
    base::Error error = base::error(Code::kInternal, run->output.substr(0, end));
    error.details = run->output.substr(end + 1);
    return error;
  }
  if (!run->is_whole) return with_reason(not_loaded(kLibraryDamaged), *run);
  return load_library();
}

base::Result<void*> SpeechLibrary::handle() {
  if (auto loaded = load_library_safely(); !loaded) return std::move(loaded.error());
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

SpeechLibrary::Model SpeechLibrary::load_model(const SpeechTaskOptions& options) const {
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
    case SpeechModelLayout::kSpeakers:
      return Model{{nullptr, functions_->destroy}};  // it cannot transcribe
  }
  return Model{{functions_->create(&settings), functions_->destroy}};
}

// Writes kLoaded as soon as the model is loaded, then kRecognised, the text, a zero and the language.
void SpeechLibrary::recognise_into(int to, std::span<const std::int16_t> samples,
                                   const SpeechTaskOptions& options) const {
  const Model model = load_model(options);
  if (!model.recogniser) return;
  write_all(to, {&kLoaded, 1});
  std::vector<float> sound(samples.size());
  for (std::size_t at = 0; at < samples.size(); ++at) sound[at] = samples[at] / kSampleScale;
  const auto* stream = functions_->create_stream(model.recogniser.get());
  if (stream == nullptr) return;
  functions_->accept(stream, kSpeechSampleRate, sound.data(), static_cast<std::int32_t>(sound.size()));
  functions_->decode(model.recogniser.get(), stream);
  const auto* result = functions_->result(stream);
  if (result == nullptr || result->text == nullptr) return;
  const char* language = result->lang == nullptr ? "" : result->lang;
  write_all(to, kRecognised + std::string(result->text) + '\0' + language);
  ::_exit(0);  // frees everything at once
}

base::Result<RecognisedText> SpeechLibrary::recognise(std::span<const std::int16_t> samples,
                                                      const SpeechTaskOptions& options) {
  if (auto loaded = load_library_safely(); !loaded) return std::move(loaded.error());
  const auto run = in_copy([&](int to) { recognise_into(to, samples, options); });
  if (!run) return run.error();
  std::string_view output = run->output;
  if (output.empty() || output[0] != kLoaded) {
    return why_it_ended(*run, base::error(Code::kInternal,
                                          "the speech model cannot be loaded: its files are damaged, "
                                          "or of another family or version"));
  }
  output.remove_prefix(1);
  const bool is_whole = run->is_whole && !output.empty() && output[0] == kRecognised;
  if (is_whole) output.remove_prefix(1);
  const std::size_t end = output.find('\0');
  if (!is_whole || end == std::string_view::npos || (end == 0 && has_failed(*run))) {
    return why_it_ended(*run, base::error(Code::kPieceFailed, "the speech model failed on the piece"));
  }
  return RecognisedText{std::string(output.substr(0, end)), std::string(output.substr(end + 1))};
}

// The copy's processor time counts against the limit of this process.
base::Result<CopyRun> SpeechLibrary::in_copy(const std::function<void(int to)>& work) {
  constexpr std::size_t kOutputMax = std::size_t{1} << 18;
  auto run = run_apart(cpu_left(), kOutputMax, work);
  if (!run) return base::error(Code::kOverloaded, "no file descriptor is left for a pipe: raise `ulimit -n`");
  if (run->exceeded_time) ::raise(SIGXCPU);
  if (run->was_killed)
    return base::error(Code::kOverloaded,
                       "the process that ran the speech model was killed, probably because the machine is "
                       "short of memory: give it more, or fewer slots for stt");
  spend_cpu(run->cpu);
  return *std::move(run);
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

base::Result<CopyRun> SpeechLibrary::in_copy(const std::function<void(int to)>&) { return no_engine(); }

#endif

}  // namespace millrace::engines::host
