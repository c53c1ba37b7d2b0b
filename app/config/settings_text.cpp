#include "app/config/settings_text.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "ai/engines/speech/model_files.h"
#include "app/cli/json_cells.h"
#include "platform/base/bytes.h"

namespace millrace::app {
namespace {

using base::Setting;
using base::SettingType;

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string_view section_of(const Setting& setting) {
  const std::size_t dot = setting.path.find('.');
  return dot == std::string_view::npos ? std::string_view() : setting.path.substr(0, dot);
}

std::string bound_text(SettingType type, std::int64_t value) {
  if (type == SettingType::kDuration) return base::format_duration(std::chrono::milliseconds(value));
  return type == SettingType::kBytes ? base::format_bytes(value) : std::to_string(value);
}

std::string range_text(const Setting& setting) {
  const bool open = setting.max == std::numeric_limits<std::int64_t>::max();
  const std::string least = bound_text(setting.type, setting.min);
  return open ? "from " + least : least + " to " + bound_text(setting.type, setting.max);
}

std::string value_text(const Setting& setting) {
  switch (setting.type) {
    case SettingType::kBool:
      return "`true`, `false`";
    case SettingType::kInteger:
      return "a number, " + range_text(setting);
    case SettingType::kBytes:
      return "a size, " + range_text(setting);
    case SettingType::kDuration:
      return "a duration, " + range_text(setting);
    case SettingType::kList:
      return "a list";
    case SettingType::kString:
      break;
  }
  std::string choices(setting.choices);
  for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += 4)
    choices.replace(at, 1, "`, `");
  return choices.empty() ? "text" : code(choices);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string names_text(const std::string& main, std::string_view alias, std::string_view prefix) {
  std::string out = code(std::string(prefix) + main);
  if (!alias.empty()) out += ", " + code(std::string(prefix) + std::string(alias));
  return out;
}

std::string row_text(const Setting& setting) {
  return "| " + code(setting.path) + " | " +
         (setting.default_text.empty() ? "–" : code(setting.default_text)) + " | " + value_text(setting) +
         " | " + escaped(setting.help) + " | " +
         names_text(base::flag_name(setting), setting.flag_alias, "--") + " | " +
         names_text(base::env_name(setting), setting.env_alias, "") + " |\n";
}

}  // namespace

std::string settings_reference(std::span<const Setting> table) {
  std::string out;
  std::string_view section;
  for (const Setting& setting : table) {
    if (out.empty() || section_of(setting) != section) {
      section = section_of(setting);
      out += std::string(out.empty() ? "" : "\n") + "### " +
             (section.empty() ? "Without a section" : code(section)) +
             "\n| setting | default | value | what | flag | environment |\n|---|---|---|---|---|---|\n";
    }
    out += row_text(setting);
  }
  return out;
}

namespace {

constexpr std::size_t kColumnMax = 40;  // longer values exceed the column

std::string slots_text(const std::map<schemas::Kind, int>& slots) {
  std::string out;
  for (const auto& [kind, count] : slots) {
    if (kind == schemas::Kind::kMachine) continue;  // internal
    out += (out.empty() ? "" : ",") + std::string(schemas::name(kind)) + "=" + std::to_string(count);
  }
  return out;
}

std::string log_format_text(base::LogFormat format) {
  switch (format) {
    case base::LogFormat::kText:
      return "text";
    case base::LogFormat::kJson:
      return "json";
  }
  return {};
}

// The value that the program has chosen. Empty: the given value stands.
std::string chosen(std::string_view path, const LoadedSettings& loaded) {
  if (path == "data") return loaded.settings ? loaded.settings->data_dir : default_data_dir();
  if (!loaded.settings) return {};
  if (path == "slots") return slots_text(loaded.settings->slots);
  return path == "log.format" ? log_format_text(loaded.settings->log_format) : "";
}

// Extracts the default from a help text: "(the listener)" from "… (default: the listener)", else "-".
std::string stated_default(std::string_view path) {
  constexpr std::string_view kMark = "(default: ";
  for (const base::Setting& setting : settings_table()) {
    const std::size_t at = setting.path == path ? setting.help.find(kMark) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    const std::string_view rest = setting.help.substr(at + kMark.size());
    return "(" + std::string(rest.substr(0, rest.find(')'))) + ")";
  }
  return "-";
}

base::Config::EffectiveValue machine_line(const schemas::Machine& machine, const std::string& place) {
  return {"machines." + machine.name,
          std::string(schemas::name(machine.driver)) + " " + schemas::machine_id(machine.id), place};
}

base::Config::EffectiveValue model_line(const inference::ModelRow& row, const std::string& place) {
  const providers::Target& target = row.target;
  const std::string where = target.base_url.empty() ? "" : " at " + target.base_url;
  return {"models." + target.name, std::string(target.preset->name) + " " + target.model + where, place};
}

base::Config::EffectiveValue speech_model_line(const engines::SpeechModel& model, const std::string& place) {
  std::string value = std::string(engines::family_name(model.family)) + " " + model.path;
  for (const std::string& language : model.languages) value += " " + language;
  return {"stt.models." + model.name, std::move(value), place};
}

base::Config::EffectiveValue voice_model_line(const engines::VoiceModel& voice, const std::string& place) {
  std::string value = voice.path;
  for (const std::string& language : voice.languages) value += " " + language;
  return {"speech.models." + voice.name, std::move(value), place};
}

// The line of a provider: its place in the file, else the variable that has its key.
base::Config::EffectiveValue provider_line(const providers::Target& provider,
                                           const base::ConfigNode& section) {
  const std::string name(provider.preset->name);
  const auto entry = std::ranges::find(section.items, name, &base::ConfigNode::key);
  const bool is_filed = entry != section.items.end();
  return {"providers." + name, provider.base_url + (provider.key.empty() ? ", no key" : ", key ****"),
          is_filed ? entry->place : std::string(provider.preset->key_variable)};
}

// Removes the password of a URL such as "https://user:secret@host/v1"; user and host stay.
std::string without_password(std::string value) {
  for (std::size_t at = value.find("://"); at != std::string::npos; at = value.find("://", at + 1)) {
    const std::size_t begin = at + 3, end = value.find_first_of("/?#, ", begin);
    const std::size_t sign = value.substr(0, end).rfind('@');
    const std::size_t colon = value.find(':', begin);
    if (sign != std::string::npos && sign > begin && colon < sign)
      value.replace(colon + 1, sign - colon - 1, "****");
  }
  return value;
}

std::string source_text(const std::string& origin) {
  if (origin == "default") return origin;
  if (origin.starts_with("--")) return "flag " + origin;
  return (origin.find(':') == std::string::npos ? "environment " : "file ") + origin;
}

}  // namespace

std::string settings_text(const std::vector<base::Config::EffectiveValue>& lines) {
  const base::Config::EffectiveValue head{"SETTING", "VALUE", "FROM"};
  std::size_t path_width = head.path.size(), value_width = head.value.size();
  for (const base::Config::EffectiveValue& line : lines) {
    path_width = std::max(path_width, std::min(line.path.size(), kColumnMax));
    value_width = std::max(value_width, std::min(line.value.size(), kColumnMax));
  }
  const auto row = [&](const base::Config::EffectiveValue& line, const std::string& source) {
    return cli::padded(line.path, path_width) + "  " + cli::padded(line.value, value_width) + "  " + source +
           "\n";
  };
  std::string out = row(head, head.origin);
  for (const base::Config::EffectiveValue& line : lines) out += row(line, source_text(line.origin));
  return out;
}

std::vector<base::Config::EffectiveValue> effective_settings(const LoadedSettings& loaded) {
  std::vector<base::Config::EffectiveValue> lines = loaded.config.effective();
  for (base::Config::EffectiveValue& line : lines) {
    // Slots are shown in full, for each kind.
    const bool is_given = !line.value.empty() && line.path != "slots";
    if (std::string better = is_given ? "" : chosen(line.path, loaded); !better.empty())
      line.value = std::move(better);
    if (line.value.empty()) line.value = stated_default(line.path);
  }
  for (std::size_t i = 0; loaded.settings && i < loaded.machine_places.size(); ++i) {
    lines.push_back(machine_line(loaded.settings->machines[i], loaded.machine_places[i]));
  }
  for (std::size_t i = 0; loaded.settings && i < loaded.model_places.size(); ++i) {
    lines.push_back(model_line(loaded.settings->models.models[i], loaded.model_places[i]));
  }
  for (std::size_t i = 0; loaded.settings && i < loaded.speech_model_places.size(); ++i) {
    lines.push_back(speech_model_line(loaded.settings->speech_models[i], loaded.speech_model_places[i]));
  }
  for (std::size_t i = 0; loaded.settings && i < loaded.voice_model_places.size(); ++i) {
    lines.push_back(voice_model_line(loaded.settings->voice_models[i], loaded.voice_model_places[i]));
  }
  if (loaded.settings) {
    for (const providers::Target& provider : loaded.settings->models.open_providers)
      lines.push_back(provider_line(provider, loaded.config.section("providers")));
  }
  for (base::Config::EffectiveValue& line : lines) line.value = without_password(std::move(line.value));
  return lines;
}

}  // namespace millrace::app
