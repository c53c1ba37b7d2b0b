#include "app/effective_settings.h"

#include <string>
#include <string_view>

namespace millrace::app {
namespace {

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

// Empty: there is no better value than the one that was given.
std::string chosen(std::string_view path, const LoadedSettings& loaded) {
  if (path == "data") return loaded.settings ? loaded.settings->data_dir : default_data_dir();
  if (!loaded.settings) return {};
  if (path == "slots") return slots_text(loaded.settings->slots);
  return path == "log.format" ? log_format_text(loaded.settings->log_format) : "";
}

// "(the listener)" of "… (default: the listener)", else "-".
std::string said_default(std::string_view path) {
  constexpr std::string_view kMark = "(default: ";
  for (const base::Setting& setting : settings_table()) {
    const std::size_t at = setting.path == path ? setting.help.find(kMark) : std::string_view::npos;
    if (at == std::string_view::npos) continue;
    const std::string_view rest = setting.help.substr(at + kMark.size());
    return "(" + std::string(rest.substr(0, rest.find(')'))) + ")";
  }
  return "-";
}

base::Config::Line machine_line(const schemas::Machine& machine, const std::string& place) {
  return {"machines." + machine.name,
          std::string(schemas::name(machine.driver)) + " " + schemas::machine_id(machine.id), place};
}

base::Config::Line model_line(const inference::ModelRow& row, const std::string& place) {
  const providers::Target& target = row.target;
  const std::string where = target.base_url.empty() ? "" : " at " + target.base_url;
  return {"models." + target.name, std::string(target.preset->name) + " " + target.model + where, place};
}

}  // namespace

std::vector<base::Config::Line> effective_settings(const LoadedSettings& loaded) {
  std::vector<base::Config::Line> lines = loaded.config.effective();
  for (base::Config::Line& line : lines) {
    const bool is_given = !line.value.empty() && line.path != "slots";  // those in full: each kind's
    if (std::string better = is_given ? "" : chosen(line.path, loaded); !better.empty())
      line.value = std::move(better);
    if (line.value.empty()) line.value = said_default(line.path);
  }
  for (std::size_t i = 0; loaded.settings && i < loaded.machine_places.size(); ++i) {
    lines.push_back(machine_line(loaded.settings->machines[i], loaded.machine_places[i]));
  }
  for (std::size_t i = 0; loaded.settings && i < loaded.model_places.size(); ++i) {
    lines.push_back(model_line(loaded.settings->models.models[i], loaded.model_places[i]));
  }
  return lines;
}

}  // namespace millrace::app
