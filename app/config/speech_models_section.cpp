#include "app/config/speech_models_section.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "ai/engines/speech/model_files.h"
#include "app/config/models_section.h"
#include "app/config/section_map.h"
#include "platform/base/nearest.h"
#include "schemas/media/languages.h"
#include "schemas/media/local_transcription.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

constexpr std::string_view kSpeechModelsName = "stt.models";
constexpr std::array<std::string_view, 4> kSpeechModelKeys{"name", "family", "path", "languages"};

// Reads one row, key by key.
class SpeechModelReader {
 public:
  SpeechModelReader(const ConfigNode& node, Mistakes& mistakes)
      : map_(node, std::string(kSpeechModelsName), kSpeechModelKeys, mistakes) {}

  engines::SpeechModel read() {
    if (!map_.is_map()) return std::move(model_);
    model_.name = read_local_model_name(map_, "whisper-base", schemas::default_transcription_names());
    if (const auto family = read_speech_family(map_)) model_.family = *family;
    model_.path = read_model_folder(map_, "/srv/models/whisper-base");
    model_.languages = read_speech_languages(map_);
    return std::move(model_);
  }

 private:
  SectionMap map_;
  engines::SpeechModel model_;
};

void check_new_name(const SpeechModelsSection& out, const engines::SpeechModel& model,
                    const std::string& place, Mistakes& mistakes) {
  const auto same = std::ranges::find(out.models, model.name, &engines::SpeechModel::name);
  if (same == out.models.end()) return;
  const auto index = static_cast<std::size_t>(same - out.models.begin());
  mistakes.push_back({place, std::string(kSpeechModelsName) + ".name: \"" + model.name +
                                 "\" is also the name of the row at " + out.places[index]});
}

}  // namespace

std::string taken_model_name(const std::string& name, std::span<const std::string_view> further) {
  if (name.starts_with(schemas::kOwnModelPrefix))
    return "\"" + name + "\" begins with " + std::string(schemas::kOwnModelPrefix) +
           ", which is for built-in models; choose another name";
  if (std::ranges::find(further, name) != further.end())
    return "\"" + name + "\" is another name of the default local model; choose another name";
  return {};
}

std::string read_local_model_name(SectionMap& map, const std::string& example,
                                  std::span<const std::string_view> further) {
  std::string name = map.text("name").value_or("");
  if (!is_model_name(name)) {
    map.mistake("name",
                "is the name that clients send, such as " + example + ": 1 to 200 characters, no spaces");
  } else if (const std::string taken = taken_model_name(name, further); !taken.empty()) {
    map.mistake("name", taken);
  }
  return name;
}

std::string read_model_folder(SectionMap& map, const std::string& example) {
  std::string path = map.text("path").value_or("");
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.empty()) {
    map.mistake("path", "is missing: the folder with the model's files, as in " + example);
  } else if (!path.starts_with('/')) {
    map.mistake("path", "\"" + path + "\" does not begin with /: give the whole path of the folder");
  }
  return path;
}

std::optional<engines::SpeechModelFamily> read_speech_family(SectionMap& map) {
  const auto text = map.text("family");
  std::string names;
  std::vector<std::string_view> known;
  for (const engines::SpeechModelFamily family : engines::kSpeechModelFamilies) {
    known.push_back(engines::family_name(family));
    names.append(names.empty() ? "" : ", ").append(known.back());
  }
  const auto family = text ? engines::family_named(*text) : std::nullopt;
  if (family) return family;
  const std::string_view near = text ? base::nearest(*text, known) : std::string_view();
  map.mistake("family", text ? "\"" + *text + "\" is none of " + names +
                                   (near.empty() ? "" : "; did you mean " + std::string(near) + "?")
                             : "is missing: one of " + names);
  return std::nullopt;
}

std::vector<std::string> read_speech_languages(SectionMap& map) {
  std::vector<std::string> out;
  const ConfigNode* node = map.find("languages");
  if (node == nullptr || node->kind != ConfigNode::Kind::kList || node->items.empty()) {
    map.mistake("languages", "the ISO 639-1 codes that the model knows are expected here, as in [en, de]");
    return out;
  }
  for (const ConfigNode& item : node->items) {
    const schemas::SpokenLanguage* language = schemas::find_language(item.text);
    if (item.kind != ConfigNode::Kind::kText || language == nullptr || language->code != item.text) {
      const std::string near =
          language == nullptr ? ", such as en" : "; did you mean " + std::string(language->code) + "?";
      map.mistake("languages", "\"" + item.text + "\" is not an ISO 639-1 code" + near);
    } else if (std::ranges::find(out, item.text) == out.end()) {
      out.push_back(item.text);
    }
  }
  return out;
}

SpeechModelsSection read_speech_models(const ConfigNode& section) {
  SpeechModelsSection out;
  if (section.kind == ConfigNode::Kind::kNone) return out;
  if (section.kind != ConfigNode::Kind::kList) {
    out.mistakes.push_back({section.place, std::string(kSpeechModelsName) +
                                               ": a list is expected here, as in `- name: whisper-base`"});
    return out;
  }
  for (const ConfigNode& node : section.items) {
    const std::size_t before = out.mistakes.size();
    engines::SpeechModel model = SpeechModelReader(node, out.mistakes).read();
    if (out.mistakes.size() == before) check_new_name(out, model, node.place, out.mistakes);
    if (out.mistakes.size() > before) continue;
    if (const auto files = engines::find_model_files(model); !files) {
      out.mistakes.push_back(
          {node.place, std::string(kSpeechModelsName) + ".path: " + files.error().message, false});
    }
    out.models.push_back(std::move(model));
    out.places.push_back(node.place);
  }
  return out;
}

engines::SpeakerFiles read_speaker_files(const base::Config& config,
                                         std::vector<base::ConfigMistake>& mistakes) {
  struct Part {
    const char *name, *other;
  };
  constexpr Part kParts[] = {{"stt.speakers.segmentation", "stt.speakers.embedding"},
                             {"stt.speakers.embedding", "stt.speakers.segmentation"}};
  const std::size_t before = mistakes.size();
  for (const auto& [name, other] : kParts) {
    const std::string& path = config.text(name);
    if (path.empty() && config.is_set(other))
      mistakes.push_back({config.origin(other), std::string(name) + ": is missing; both files are needed"});
    if (!path.empty() && !path.starts_with('/'))
      mistakes.push_back({config.origin(name), std::string(name) + ": \"" + path +
                                                   "\" does not begin with /: give the whole path"});
  }
  engines::SpeakerFiles files{config.text(kParts[0].name), config.text(kParts[1].name)};
  if (mistakes.size() > before || files.empty()) return {};
  if (const base::Status good = engines::check_speaker_files(files); !good)
    mistakes.push_back({config.origin(kParts[0].name), "stt.speakers: " + good.error().message, false});
  return files;
}

void check_local_model_names(const LocalRows& rows, const inference::ModelSettings& others,
                             std::span<const std::string> other_places,
                             std::vector<base::ConfigMistake>& mistakes) {
  const auto mistake = [&](std::size_t row, const std::string& why) {
    mistakes.push_back({rows.places[row], rows.setting + ".name: \"" + rows.names[row] + "\" " + why});
  };
  for (std::size_t i = 0; i < rows.names.size(); ++i) {
    const std::string& name = rows.names[i];
    for (std::size_t k = 0; k < others.models.size(); ++k) {
      if (others.models[k].target.name == name)
        mistake(i, "is also the name of the row of `models` at " + other_places[k] + "; choose another name");
    }
    const std::size_t slash = name.find('/');
    const std::string provider = name.substr(0, slash == std::string::npos ? 0 : slash);
    if (providers::preset_named(provider) != nullptr || others.aliases.count(provider) > 0)
      mistake(i, "begins with " + provider + "/, which is for models of that provider; choose another name");
  }
}

void check_same_names(const LocalRows& rows, const LocalRows& others,
                      std::vector<base::ConfigMistake>& mistakes) {
  for (std::size_t i = 0; i < rows.names.size(); ++i) {
    const auto same = std::ranges::find(others.names, rows.names[i]);
    if (same == others.names.end()) continue;
    const std::string& place = others.places[static_cast<std::size_t>(same - others.names.begin())];
    mistakes.push_back({rows.places[i], rows.setting + ".name: \"" + rows.names[i] +
                                            "\" is also the name of the row of " + others.setting + " at " +
                                            place + "; choose another name"});
  }
}

}  // namespace millrace::app
