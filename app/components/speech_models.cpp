#include "app/components/speech_models.h"

#include <filesystem>
#include <utility>

#include "ai/engines/speech/speech_engine_folder.h"
#include "app/components/engine_children.h"

namespace millrace::app {
namespace {

constexpr std::string_view kNoEngine = "none";

base::Result<engines::Recognition> recognition_with(const std::string& engine,
                                                    const engines::SpeechModel& model) {
  auto loadable = engines::loadable_model(engine, model);
  if (!loadable) return std::move(loadable.error());
  engines::Recognition recognition{*std::move(loadable), {}};
  if (model.languages.size() == 1) recognition.options.language = model.languages.front();
  return recognition;
}

}  // namespace

std::string speech_engine_folder(const Settings& settings) {
  if (settings.stt_engine == kNoEngine) return {};
  if (!settings.stt_engine.empty()) return settings.stt_engine;
  return engines::find_speech_engine(std::filesystem::path(engine_program()).parent_path().string());
}

base::Status check_moonshine(const Settings& settings) {
  if (settings.stt_engine == kNoEngine)
    return base::error(base::Code::kInternal, "the speech engine is off; remove stt.engine to use it");
  const std::string folder = speech_engine_folder(settings);
  const auto model = engines::loadable_model(folder, engines::moonshine_model(folder));
  if (!model) return model.error();
  return {};
}

schemas::LocalTranscriptionModels local_transcription_models(const Settings& settings) {
  std::vector<schemas::LocalTranscriptionModel> configured;
  for (const engines::SpeechModel& model : settings.speech_models) {
    schemas::LocalTranscriptionModel local{
        .name = model.name, .display_name = model.name, .languages = model.languages};
    // Of the families, only Whisper was trained to translate; its English-only models were not.
    local.translates = model.family == engines::SpeechModelFamily::kWhisper && !local.is_english_only();
    configured.push_back(std::move(local));
  }
  return schemas::LocalTranscriptionModels(check_moonshine(settings).has_value(), std::move(configured));
}

SpeechModels::SpeechModels(const Settings& settings) {
  std::error_code failed;
  const std::string engine = speech_engine_folder(settings);
  const auto add = [&](const engines::SpeechModel& model) {
    const auto [added, is_new] = models_.emplace(model.name, recognition_with(engine, model));
    if (!is_new || !added->second) return;
    for (const engines::SpeechFile& file : added->second->model->files())
      files_.push_back(std::filesystem::weakly_canonical(file.path, failed).string());
  };
  add(engines::moonshine_model(engine));
  for (const engines::SpeechModel& model : settings.speech_models) add(model);
  models_.emplace(schemas::kSphinxModel, engines::Recognition());
}

base::Result<engines::Recognition> SpeechModels::find(const std::string& name) const {
  const auto found = models_.find(name);
  if (found == models_.end())
    return base::error(base::Code::kModelNotFound, "this worker does not have the model " + name +
                                                       ": add it to stt.models in its configuration");
  return found->second;
}

}  // namespace millrace::app
