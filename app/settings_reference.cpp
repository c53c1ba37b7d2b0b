#include "app/settings_reference.h"

#include <limits>
#include <string_view>

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
             (section.empty() ? "In general" : code(section)) +
             "\n| setting | default | value | what | flag | environment |\n|---|---|---|---|---|---|\n";
    }
    out += row_text(setting);
  }
  return out;
}

}  // namespace millrace::app
