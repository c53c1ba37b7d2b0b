#include "ai/engines/speech/speech_engine_folder.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "ai/engines/speech/model_files.h"
#include "schemas/media/local_transcription.h"

namespace millrace::engines {
namespace {

namespace fs = std::filesystem;

#ifdef MILLRACE_HAS_SPEECH_ENGINE
constexpr bool kIsCompiledFor = true;
#else
constexpr bool kIsCompiledFor = false;
#endif
constexpr const char* kAdvice = "; run scripts/setup to fetch it, or install the package again";

base::Error engine_missing(const std::string& what) {
  return base::error(base::Code::kInternal, "the speech engine is incomplete: " + what + kAdvice);
}

base::Result<std::vector<SpeechFile>> existing(const std::string& folder, std::vector<SpeechFile> files) {
  std::error_code failed;
  for (SpeechFile& file : files) {
    file.path = (fs::path(folder) / file.path).string();
    if (!fs::is_regular_file(file.path, failed)) return engine_missing(file.path + " is missing");
  }
  return files;
}

struct FileOfMoonshine {
  SpeechFileRole role;
  KnownContent content;
};
// Of the version that packaging/speech-model.txt pins, as scripts/fetch-speech writes it.
constexpr FileOfMoonshine kMoonshineFiles[] = {
    {SpeechFileRole::kEncoder,
     {20'661'976, "9d1a19e044cbf89a207723d1adb667de89a5671a1e3e611b8ebe721b2c31219c"}},
    {SpeechFileRole::kMergedDecoder,
     {42'703'232, "370e0c1f161d68dc1c2264c1a82024fb123380da3b73f47f05531d1e8d3308c3"}},
    {SpeechFileRole::kTokens, {532'090, "6649b3bb924802ef3f22f047d82bec49c474360db42126abd5b48b348c8369cc"}}};

std::optional<KnownContent> known_content(const SpeechModel& model, SpeechFileRole role) {
  if (model.name != schemas::kMoonshineModel) return std::nullopt;
  for (const FileOfMoonshine& file : kMoonshineFiles) {
    if (file.role == role) return file.content;
  }
  return std::nullopt;
}

// The version file begins "sherpa-onnx-core 2.0.1".
base::Status check_version(const std::string& folder) {
  std::ifstream file(fs::path(folder) / "version");
  std::string name, version;
  file >> name >> version;
  if (!version.empty() && version.back() == ',') version.pop_back();
  if (version == kSpeechEngineVersion) return {};
  return engine_missing(folder + " has version " + (version.empty() ? "unknown" : version) +
                        ", this program needs " + std::string(kSpeechEngineVersion));
}

}  // namespace

std::string find_speech_engine(const std::string& program_folder) {
  std::error_code failed;
  const fs::path beside = fs::path(program_folder) / "speech";
  if (fs::is_directory(beside, failed)) return beside.string();
  const fs::path above = fs::path(program_folder).parent_path() / "speech";
  return fs::is_directory(above, failed) ? above.string() : std::string();
}

base::Result<std::vector<SpeechFile>> speech_library(const std::string& folder) {
  if (!kIsCompiledFor)
    return base::error(base::Code::kInternal,
                       "this program was compiled without the speech engine; run scripts/setup, then "
                       "scripts/build");
  if (folder.empty())
    return base::error(base::Code::kInternal, std::string("the speech engine is not installed") + kAdvice);
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    return base::error(base::Code::kInternal, "the folder of the speech engine, " + folder +
                                                  ", does not exist: correct stt.engine, or remove it");
  if (base::Status good = check_version(folder); !good) return good.error();
  return existing(folder, {{std::string(kRuntimeRole), "lib/libonnxruntime.so"},
                           {std::string(kLibraryRole), "lib/libsherpa-onnx-c-api.so"}});
}

base::Result<LoadableModelPtr> loadable_model(const std::string& folder, const SpeechModel& model) {
  auto files = speech_library(folder);
  if (!files) return std::move(files.error());
  const auto own = find_model_files(model);
  if (!own) return own.error();
  for (const SpeechModelFile& file : own->files)
    files->push_back({std::string(role_name(file.role)), file.path, known_content(model, file.role)});
  auto loadable = std::make_shared<const LoadableModel>(own->layout, *std::move(files));
  if (const base::Status good = loadable->check(); !good) return good.error();
  return loadable;
}

base::Result<LoadableVoice> loadable_voice(const std::string& folder, const VoiceModel& voice) {
  auto files = speech_library(folder);
  if (!files) return std::move(files.error());
  const auto own = find_voice_files(voice);
  if (!own) return own.error();
  files->push_back({std::string(role_name(SpeechFileRole::kModel)), own->model});
  files->push_back({std::string(role_name(SpeechFileRole::kTokens)), own->tokens});
  if (!own->lexicon.empty()) files->push_back({std::string(kLexiconRole), own->lexicon});
  return LoadableVoice{std::make_shared<const LoadableModel>(SpeechModelLayout::kVoice, *std::move(files)),
                       own->speakers};
}

SpeechModel moonshine_model(const std::string& folder) {
  return {std::string(schemas::kMoonshineModel),
          SpeechModelFamily::kMoonshine,
          (fs::path(folder) / "moonshine-en").string(),
          {"en"}};
}

}  // namespace millrace::engines
