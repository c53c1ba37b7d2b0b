#include "app/effective_settings.h"

#include <string>
#include <string_view>

namespace millrace::app {
namespace {

std::string slots_text(const std::map<schemas::Kind, int>& slots) {
  std::string out;
  for (const auto& [kind, count] : slots)
    out += (out.empty() ? "" : ",") + std::string(schemas::name(kind)) + "=" + std::to_string(count);
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

}  // namespace

std::vector<base::Config::Line> effective_settings(const LoadedSettings& loaded) {
  std::vector<base::Config::Line> lines = loaded.config.effective();
  for (base::Config::Line& line : lines) {
    const bool is_given = !line.value.empty() && line.path != "slots";  // those in full: each kind's
    if (std::string better = is_given ? "" : chosen(line.path, loaded); !better.empty())
      line.value = std::move(better);
    if (line.value.empty()) line.value = said_default(line.path);
  }
  return lines;
}

}  // namespace millrace::app
