#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/media/speech.h"

namespace millrace::schemas {

// A model that this gateway speaks with, beside millrace/flite: a row of the setting speech.models.
struct LocalVoiceModel {
  std::string name;                    // as clients request it
  std::vector<std::string> languages;  // ISO 639-1
  int speakers = 1;                    // its voices; clients request them by their numbers from 0
};

// The local voice models of one gateway. Immutable.
class LocalVoiceModels {
 public:
  explicit LocalVoiceModels(std::vector<LocalVoiceModel> models = {}) : models_(std::move(models)) {}

  const LocalVoiceModel* find(std::string_view name) const;  // null: no local voice model has the name
  std::span<const LocalVoiceModel> all() const { return models_; }

 private:
  std::vector<LocalVoiceModel> models_;
};

// The number of the speaker that `voice` requests: a number below model.speakers; "default" and OpenAI's
// names of voices, which existing clients send, are 0. nullopt: the model has no such voice.
std::optional<int> speaker_number(const LocalVoiceModel& model, std::string_view voice);
// Why the model refuses the request: an unknown voice. nullopt: it accepts the request.
std::optional<Refusal> voice_model_refusal(const LocalVoiceModel& model, const SpeechRequest& request);

}  // namespace millrace::schemas
