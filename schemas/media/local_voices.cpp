#include "schemas/media/local_voices.h"

#include <algorithm>
#include <charconv>

namespace millrace::schemas {
namespace {

constexpr std::string_view kDefaultVoice = "default";

// The other local voices have flite's names.
bool is_openai_voice(std::string_view name) {
  const LocalVoice* voice = local_voice(name);
  return voice != nullptr && voice->name != voice->voice;
}

}  // namespace

const LocalVoiceModel* LocalVoiceModels::find(std::string_view name) const {
  const auto at = std::find_if(models_.begin(), models_.end(),
                               [name](const LocalVoiceModel& model) { return model.name == name; });
  return at == models_.end() ? nullptr : &*at;
}

std::optional<int> speaker_number(const LocalVoiceModel& model, std::string_view voice) {
  if (voice == kDefaultVoice || is_openai_voice(voice)) return 0;
  int number = 0;
  const auto [end, failed] = std::from_chars(voice.data(), voice.data() + voice.size(), number);
  if (failed != std::errc() || end != voice.data() + voice.size()) return std::nullopt;
  if (number < 0 || number >= model.speakers) return std::nullopt;
  return number;
}

std::optional<Refusal> voice_model_refusal(const LocalVoiceModel& model, const SpeechRequest& request) {
  if (speaker_number(model, request.voice)) return std::nullopt;
  const std::string numbers = model.speakers == 1 ? "0" : "0 to " + std::to_string(model.speakers - 1);
  FieldProblem problem{.loc = {"body", "voice"},
                       .msg = "The model '" + model.name + "' has no such voice; it has: default, " +
                              numbers + "; OpenAI's names of voices are default",
                       .type = "literal_error",
                       .input = dump(Json(request.voice)),
                       .ctx = {}};
  return invalid({std::move(problem)});
}

}  // namespace millrace::schemas
