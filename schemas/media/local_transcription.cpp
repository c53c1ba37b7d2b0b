#include "schemas/media/local_transcription.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 3> kDefaultNames{"whisper-1", "gpt-4o-transcribe",
                                                        "gpt-4o-mini-transcribe"};

LocalTranscriptionModel english_model(std::string_view name, std::string display_name) {
  return {.name = std::string(name), .display_name = std::move(display_name), .languages = {"en"}};
}

}  // namespace

std::span<const std::string_view> default_transcription_names() { return kDefaultNames; }

bool LocalTranscriptionModel::knows(std::string_view code) const {
  return std::find(languages.begin(), languages.end(), code) != languages.end();
}

bool LocalTranscriptionModel::is_english_only() const {
  return languages.size() == 1 && languages.front() == "en";
}

LocalTranscriptionModels::LocalTranscriptionModels(bool has_moonshine,
                                                   std::vector<LocalTranscriptionModel> configured) {
  if (has_moonshine) models_.push_back(english_model(kMoonshineModel, "Moonshine, English"));
  models_.push_back(english_model(kSphinxModel, "PocketSphinx, English"));
  for (LocalTranscriptionModel& model : configured) {
    model.is_configured = true;
    models_.push_back(std::move(model));
  }
}

const LocalTranscriptionModel* LocalTranscriptionModels::find(std::string_view name) const {
  if (std::find(kDefaultNames.begin(), kDefaultNames.end(), name) != kDefaultNames.end())
    return &default_model();
  const auto found =
      std::find_if(models_.begin(), models_.end(),
                   [name](const LocalTranscriptionModel& model) { return model.name == name; });
  return found == models_.end() ? nullptr : &*found;
}

const LocalTranscriptionModel* LocalTranscriptionModels::serving(std::string_view name,
                                                                 bool has_provider) const {
  const LocalTranscriptionModel* model = find(name);
  return model != nullptr && has_provider && !model->is_configured ? nullptr : model;
}

bool LocalTranscriptionModels::is_missing(std::string_view name) const {
  return name == kMoonshineModel && find(name) == nullptr;
}

std::vector<std::string_view> LocalTranscriptionModels::names() const {
  std::vector<std::string_view> out;
  for (const LocalTranscriptionModel& model : models_) out.push_back(model.name);
  out.insert(out.end(), kDefaultNames.begin(), kDefaultNames.end());
  return out;
}

base::Error missing_model(std::string_view name) {
  std::string message = "model '";
  message.append(name)
      .append(
          "' is not installed on this gateway, or stt.engine turns it off: `millrace doctor` says which; "
          "install it with `scripts/setup run`, or use model '")
      .append(kSphinxModel)
      .append("'");
  return base::error(base::Code::kModelNotFound, std::move(message), "model");
}

}  // namespace millrace::schemas
