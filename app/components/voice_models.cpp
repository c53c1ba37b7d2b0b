#include "app/components/voice_models.h"

#include <algorithm>
#include <utility>

#include "ai/engines/speech/speech_engine_folder.h"
#include "app/components/speech_models.h"

namespace millrace::app {

VoiceModels::VoiceModels(const Settings& settings) {
  if (settings.voice_models.empty()) return;
  const std::string engine = speech_engine_folder(settings);
  if (!engine.empty()) folders_.push_back(engine);
  std::vector<schemas::LocalVoiceModel> listed;
  for (const engines::VoiceModel& voice : settings.voice_models) {
    auto loadable = engines::loadable_voice(engine, voice);
    listed.push_back({voice.name, voice.languages, loadable ? loadable->speakers : 1});
    folders_.push_back(voice.path);
    voices_.emplace(voice.name, loadable ? base::Result<engines::LoadableModelPtr>(std::move(loadable->model))
                                         : std::move(loadable.error()));
  }
  listed_ = schemas::LocalVoiceModels(std::move(listed));
}

base::Result<engines::VoiceChoice> VoiceModels::find(const std::string& name, std::string_view voice) const {
  const auto found = voices_.find(name);
  const schemas::LocalVoiceModel* model = listed_.find(name);
  if (found == voices_.end() || model == nullptr)
    return base::error(base::Code::kModelNotFound, "speech.models has no model " + name);
  if (!found->second) return found->second.error();
  const auto speaker = schemas::speaker_number(*model, voice);
  if (!speaker) return base::error(base::Code::kInvalidField, "the model has no such voice", "voice");
  const bool is_english = std::ranges::find(model->languages, "en") != model->languages.end();
  return engines::VoiceChoice{*found->second, *speaker, is_english};
}

}  // namespace millrace::app
