#include "app/components/speech_models.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ai/engines/speech/speech_engine_folder.h"
#include "app/components/engine_children.h"

namespace millrace::app {
namespace {

base::Result<engines::Recognition> recognition_with(const std::string& engine,
                                                    const engines::SpeechModel& model) {
  auto loadable = engines::loadable_model(engine, model);
  if (!loadable) return std::move(loadable.error());
  engines::Recognition recognition{*std::move(loadable), {}};
  if (model.languages.size() == 1) recognition.options.language = model.languages.front();
  return recognition;
}

// The same with the files of stt.speakers.
base::Result<engines::Recognition> with_speaker_files(const std::string& engine,
                                                      const base::Result<engines::Recognition>& plain,
                                                      const engines::SpeakerFiles& files) {
  if (!plain) return plain;
  if (files.empty())
    return base::error(base::Code::kInternal,
                       "this worker cannot tell speakers apart: set stt.speakers in its configuration");
  auto loadable = engines::with_speakers(engine, plain->model, files);
  if (!loadable) return std::move(loadable.error());
  return engines::Recognition{*std::move(loadable), plain->options};
}

}  // namespace

std::string speech_engine_folder(const Settings& settings) {
  if (settings.stt_engine == kNoSpeechEngine) return {};
  if (!settings.stt_engine.empty()) return settings.stt_engine;
  return engines::find_speech_engine(std::filesystem::path(engine_program()).parent_path().string());
}

base::Status check_moonshine(const Settings& settings) {
  if (settings.stt_engine == kNoSpeechEngine)
    return base::error(base::Code::kInternal, "the speech engine is off; remove stt.engine to use it");
  const std::string folder = speech_engine_folder(settings);
  const auto model = engines::loadable_model(folder, engines::moonshine_model(folder));
  if (!model) return model.error();
  return {};
}

bool can_tell_speakers_apart(const Settings& settings) {
  return !settings.speaker_files.empty() &&
         engines::speech_library(speech_engine_folder(settings)).has_value();
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
  const std::string engine = speech_engine_folder(settings);
  const auto add = [&](std::string_view name, const base::Result<engines::Recognition>& plain) {
    const auto [added, is_new] =
        models_.emplace(name, Entry{plain, with_speaker_files(engine, plain, settings.speaker_files)});
    if (!is_new) return;
    add_files(added->second.plain);
    add_files(added->second.with_speakers);
  };
  const engines::SpeechModel moonshine = engines::moonshine_model(engine);
  add(moonshine.name, recognition_with(engine, moonshine));
  for (const engines::SpeechModel& model : settings.speech_models)
    add(model.name, recognition_with(engine, model));
  add(schemas::kSphinxModel, engines::Recognition());
}

void SpeechModels::add_files(const base::Result<engines::Recognition>& recognition) {
  if (!recognition || !recognition->model) return;
  std::error_code failed;
  for (const engines::SpeechFile& file : recognition->model->files()) {
    std::string path = std::filesystem::weakly_canonical(file.path, failed).string();
    if (std::ranges::find(files_, path) == files_.end()) files_.push_back(std::move(path));
  }
}

base::Result<engines::Recognition> SpeechModels::find(const std::string& name, bool with_speakers) const {
  const auto found = models_.find(name);
  if (found == models_.end())
    return base::error(base::Code::kModelNotFound, "this worker does not have the model " + name +
                                                       ": add it to stt.models in its configuration");
  return with_speakers ? found->second.with_speakers : found->second.plain;
}

}  // namespace millrace::app
