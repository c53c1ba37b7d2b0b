#include "app/config/voice_models_section.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "app/config/models_section.h"
#include "app/config/section_map.h"
#include "app/config/speech_models_section.h"
#include "schemas/media/speech.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

constexpr std::string_view kVoiceModelsName = "speech.models";
constexpr std::array<std::string_view, 3> kVoiceModelKeys{"name", "path", "languages"};

engines::VoiceModel read_voice(const ConfigNode& node, Mistakes& mistakes) {
  SectionMap map(node, std::string(kVoiceModelsName), kVoiceModelKeys, mistakes);
  engines::VoiceModel voice;
  if (!map.is_map()) return voice;
  voice.name = read_local_model_name(map, "piper-joe", schemas::speech_model_names());
  voice.path = read_model_folder(map, "/srv/voices/joe");
  voice.languages = {"en"};
  if (map.find("languages") != nullptr) voice.languages = read_speech_languages(map);
  return voice;
}

}  // namespace

VoiceModelsSection read_voice_models(const ConfigNode& section) {
  VoiceModelsSection out;
  const std::string setting(kVoiceModelsName);
  if (section.kind == ConfigNode::Kind::kNone) return out;
  if (section.kind != ConfigNode::Kind::kList) {
    out.mistakes.push_back({section.place, setting + ": a list is expected here, as in `- name: piper-joe`"});
    return out;
  }
  for (const ConfigNode& node : section.items) {
    const std::size_t before = out.mistakes.size();
    engines::VoiceModel voice = read_voice(node, out.mistakes);
    const auto same = std::ranges::find(out.models, voice.name, &engines::VoiceModel::name);
    if (out.mistakes.size() == before && same != out.models.end())
      out.mistakes.push_back(
          {node.place, setting + ".name: \"" + voice.name + "\" is also the name of the row at " +
                           out.places[static_cast<std::size_t>(same - out.models.begin())]});
    if (out.mistakes.size() > before) continue;
    if (const auto files = engines::find_voice_files(voice); !files)
      out.mistakes.push_back({node.place, setting + ".path: " + files.error().message, false});
    out.models.push_back(std::move(voice));
    out.places.push_back(node.place);
  }
  return out;
}

}  // namespace millrace::app
