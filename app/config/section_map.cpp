#include "app/config/section_map.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "platform/base/nearest.h"

namespace millrace::app {
namespace {

using base::ConfigNode;

template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number value{};
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (problem != std::errc() || end != last) return std::nullopt;
  return value;
}

// Formats a number: "0.1", "16384".
std::string shown(double value) {
  std::string text(32, '\0');
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  text.resize(static_cast<std::size_t>(written.ptr - text.data()));
  return text;
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

SectionMap::SectionMap(const ConfigNode& node, std::string name, std::span<const std::string_view> keys,
                       std::vector<base::ConfigMistake>& mistakes)
    : node_(node), name_(std::move(name)), mistakes_(mistakes) {
  if (!is_map()) {
    mistakes_.push_back({node_.place, name_ + ": a map is expected here, of " + std::string(keys.front()) +
                                          ", " + std::string(keys[1]) + " …"});
    return;
  }
  for (const ConfigNode& member : node_.items) {
    if (std::ranges::find(keys, member.key) != keys.end()) continue;
    const std::string_view near = base::nearest(member.key, keys);
    mistakes_.push_back(
        {member.place, name_ + "." + member.key + ": no such key" +
                           (near.empty() ? "" : "; did you mean " + std::string(near) + "?")});
  }
}

const ConfigNode* SectionMap::find(std::string_view key) const {
  const auto found = std::ranges::find(node_.items, key, &ConfigNode::key);
  const bool there = is_map() && found != node_.items.end() && found->kind != ConfigNode::Kind::kNone;
  return there ? &*found : nullptr;
}

std::optional<std::string> SectionMap::text(std::string_view key) {
  const ConfigNode* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind == ConfigNode::Kind::kText) return node->text;
  mistake(key, "a single value is expected here");
  return std::nullopt;
}

std::optional<bool> SectionMap::flag(std::string_view key) {
  const auto value = text(key);
  if (!value) return std::nullopt;
  const base::Setting as{.path = "flag", .type = base::SettingType::kBool};
  if (!value->empty() && base::check_value(as, *value)) return base::bool_value(*value);
  mistake(key, quoted(*value) + " is not true or false");
  return std::nullopt;
}

std::optional<std::int64_t> SectionMap::whole(std::string_view key, std::int64_t least, std::int64_t most) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  const auto value = parse<std::int64_t>(*given);
  if (value && *value >= least && *value <= most) return value;
  mistake(key, quoted(*given) + " is not a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most));
  return std::nullopt;
}

std::optional<double> SectionMap::number(std::string_view key, double least, double most) {
  const auto given = text(key);
  if (!given) return std::nullopt;
  const auto value = parse<double>(*given);
  if (value && *value >= least && *value <= most) return value;
  mistake(key, quoted(*given) + " is not a number from " + shown(least) + " to " + shown(most));
  return std::nullopt;
}

std::optional<std::vector<std::string>> SectionMap::words(std::string_view key) {
  const ConfigNode* node = find(key);
  if (node == nullptr) return std::nullopt;
  std::vector<std::string> out;
  bool good = node->kind == ConfigNode::Kind::kList && !node->items.empty();
  for (const ConfigNode& item : node->items) {
    good = good && item.kind == ConfigNode::Kind::kText;
    out.push_back(item.text);
  }
  if (good) return out;
  mistake(key, "a list of words is expected here, as in [/usr/bin/wakeonlan, 00:11:22:33:44:55]");
  return std::nullopt;
}

const std::string& SectionMap::place(std::string_view key) const {
  const auto at = std::ranges::find(node_.items, key, &ConfigNode::key);
  return is_map() && at != node_.items.end() ? at->place : node_.place;
}

void SectionMap::mistake(std::string_view key, const std::string& why) {
  mistakes_.push_back({place(key), name_ + "." + std::string(key) + ": " + why});
}

int place_line(std::string_view text, std::string_view file) {
  if (file.empty() || !text.starts_with(file)) return std::numeric_limits<int>::max();
  text.remove_prefix(file.size());
  int line = 0;
  if (text.starts_with(':')) std::from_chars(text.data() + 1, text.data() + text.size(), line);
  return line;
}

}  // namespace millrace::app
