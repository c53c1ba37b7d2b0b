#include "platform/base/setting.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "platform/base/bytes.h"

namespace millrace::base {
namespace {

constexpr std::array<std::string_view, 4> kYes{"true", "yes", "on", "1"};
constexpr std::array<std::string_view, 4> kNo{"false", "no", "off", "0"};

bool is_one_of(const std::array<std::string_view, 4>& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (text.empty() || problem != std::errc() || end != last) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_number(SettingType type, std::string_view text) {
  switch (type) {
    case SettingType::kInteger:
      return parse_integer(text);
    case SettingType::kBytes:
      return parse_bytes(text);
    case SettingType::kDuration: {
      const auto duration = parse_duration(text);
      return duration ? std::optional(static_cast<std::int64_t>(duration->count())) : std::nullopt;
    }
    case SettingType::kString:
    case SettingType::kBool:
    case SettingType::kList:
      break;
  }
  return std::nullopt;
}

std::string show_number(SettingType type, std::int64_t value) {
  if (type == SettingType::kBytes) return format_bytes(value);
  if (type == SettingType::kDuration) return format_duration(std::chrono::milliseconds(value));
  return std::to_string(value);
}

std::string expected(SettingType type) {
  switch (type) {
    case SettingType::kString:
      return "a word";
    case SettingType::kBool:
      return "true or false";
    case SettingType::kInteger:
      return "a whole number";
    case SettingType::kBytes:
      return "a size such as 64MiB";
    case SettingType::kDuration:
      return "a duration such as 30s, 10m or 90d";
    case SettingType::kList:
      return "a comma-separated list";
  }
  return "a value";
}

std::string shown(const Setting& setting, std::string_view text) {
  return setting.secret ? std::string("the value") : "\"" + std::string(text) + "\"";
}

Error wrong(const Setting& setting, const std::string& why) {
  return error(Code::kInvalidField, std::string(setting.path) + ": " + why, std::string(setting.path));
}

Status check_number(const Setting& setting, std::string_view text) {
  const auto value = parse_number(setting.type, text);
  if (!value) return wrong(setting, shown(setting, text) + " is not " + expected(setting.type));
  if (*value < setting.min) {
    return wrong(setting,
                 shown(setting, text) + " is below the minimum of " + show_number(setting.type, setting.min));
  }
  if (*value > setting.max) {
    return wrong(setting,
                 shown(setting, text) + " is above the maximum of " + show_number(setting.type, setting.max));
  }
  return {};
}

Status check_choice(const Setting& setting, std::string_view text) {
  std::string_view rest = setting.choices;
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    if (rest.substr(0, bar) == text) return {};
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  return wrong(setting, shown(setting, text) + " is not one of " + std::string(setting.choices));
}

Status check_list(const Setting& setting, std::string_view text) {
  const auto count =
      static_cast<std::int64_t>(std::count(text.begin(), text.end(), ',')) + (text.empty() ? 0 : 1);
  if (count > setting.max) {
    return wrong(setting, "has more than the maximum of " + std::to_string(setting.max) + " elements");
  }
  if (text.starts_with(',') || text.ends_with(',') || text.find(",,") != std::string_view::npos) {
    return wrong(setting, shown(setting, text) + " has an empty element");
  }
  return {};
}

}  // namespace

std::string flag_name(const Setting& setting) {
  std::string name(setting.path);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string env_name(const Setting& setting) {
  std::string name = "MILLRACE_";
  for (char c : setting.path) {
    name += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

Status check_value(const Setting& setting, std::string_view text) {
  if (text.empty() && setting.default_text.empty()) return {};
  switch (setting.type) {
    case SettingType::kString:
      return setting.choices.empty() ? Status() : check_choice(setting, text);
    case SettingType::kBool:
      if (is_one_of(kYes, text) || is_one_of(kNo, text)) return {};
      return wrong(setting, shown(setting, text) + " is not " + expected(setting.type));
    case SettingType::kInteger:
    case SettingType::kBytes:
    case SettingType::kDuration:
      return check_number(setting, text);
    case SettingType::kList:
      return check_list(setting, text);
  }
  return {};
}

bool bool_value(std::string_view text) { return is_one_of(kYes, text); }

std::int64_t number_value(const Setting& setting, std::string_view text) {
  return parse_number(setting.type, text).value_or(0);
}

}  // namespace millrace::base
