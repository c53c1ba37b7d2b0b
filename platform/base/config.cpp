#include "platform/base/config.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <simdjson.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "platform/base/bytes.h"
#include "platform/base/nearest.h"
#include "platform/base/yaml_fault.h"

namespace millrace::base {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// The parser makes broken text of what follows one (yaml-cpp 0.7). YAML 1.2 §5.1 allows none of them.
std::string::const_iterator control_character(const std::string& text) {
  return std::ranges::find_if(
      text, [](unsigned char c) { return (c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7F; });
}

// Notes where a document begins, and ignores its contents.
class DocumentStart : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
  }
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

// Where the text goes on after its first document. YAML::LoadAll is no way to find out: after malformed text
// such as a comma it never returns (yaml-cpp's issue 1040).
std::optional<YAML::Mark> second_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (!parser.HandleNextDocument(start) || !parser.HandleNextDocument(start)) return std::nullopt;
  return start.mark();
}

}  // namespace

// Fills a Config source by source in ascending precedence, so later values replace earlier ones.
class ConfigReader {
 public:
  ConfigReader(Config& config, const ConfigSources& sources) : config_(config), sources_(sources) {}

  void take_file() {
    const std::string& text = sources_.file_text;
    if (text.empty()) return;
    if (text.size() > kConfigBytesMax) {
      return add(sources_.file_name, "the file is larger than " + format_bytes(kConfigBytesMax) +
                                         ", the limit of a configuration file");
    }
    if (!simdjson::validate_utf8(text)) return add(sources_.file_name, "the file is not UTF-8");
    if (const auto at = control_character(text); at != text.end()) {
      const auto line = 1 + std::count(text.begin(), at, '\n');
      return add(sources_.file_name + ":" + std::to_string(line),
                 "a control character, which YAML does not allow");
    }
    try {
      const YAML::Node root = YAML::Load(text);
      if (const auto mark = second_document(text))
        return add(place(*mark), "a second YAML document begins here; the file must have one");
      if (root.IsNull()) return;
      if (!root.IsMap()) return add(place(root), "the file must be a map of settings");
      take_map(root, "");
    } catch (const YAML::Exception& problem) {
      add_yaml_problem(problem);
    }
  }

  void take_environment() {
    const auto names = all_names([](const Setting& s) { return env_name(s); }, &Setting::env_alias);
    for (const auto& [name, text] : sources_.environment) {
      if (!name.starts_with("MILLRACE_")) continue;
      const auto known = names.find(name);
      if (known != names.end()) {
        set(known->second, text, name);
      } else if (std::find(sources_.other_variables.begin(), sources_.other_variables.end(), name) ==
                 sources_.other_variables.end()) {
        add(name, unknown("no such variable", name, keys(names), ""), false);
      }
    }
  }

  void take_flags() {
    const auto names = all_names(flag_name, &Setting::flag_alias);
    for (const auto& [name, text] : sources_.flags) {
      const auto known = names.find(name);
      if (known == names.end()) {
        add("--" + name, unknown("no such flag", name, keys(names), "--"));
      } else {
        set(known->second, text, "--" + name);
      }
    }
  }

 private:
  using Names = std::map<std::string, std::size_t, std::less<>>;

  Names all_names(const std::function<std::string(const Setting&)>& main,
                  std::string_view Setting::*alias) const {
    Names names;
    for (std::size_t i = 0; i < config_.values_.size(); ++i) {
      const Setting& setting = *config_.values_[i].setting;
      names.emplace(main(setting), i);
      if (!(setting.*alias).empty()) names.emplace(setting.*alias, i);
    }
    return names;
  }

  static std::vector<std::string_view> keys(const Names& names) {
    std::vector<std::string_view> out;
    out.reserve(names.size());
    for (const auto& [name, index] : names) out.push_back(name);
    return out;
  }

  static std::string unknown(std::string what, std::string_view name,
                             const std::vector<std::string_view>& known, std::string_view prefix) {
    const std::string_view near = nearest(name, known);
    if (!near.empty()) what.append("; did you mean ").append(prefix).append(near).append("?");
    return what;
  }

  void take_map(const YAML::Node& map, const std::string& prefix) {
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) {
        add(place(entry.first), "a key must be a word");
        continue;
      }
      take_entry(prefix + entry.first.Scalar(), entry.first, entry.second);
    }
  }

  void take_entry(const std::string& path, const YAML::Node& key, const YAML::Node& value) {
    const auto known = config_.by_path_.find(path);
    if (known != config_.by_path_.end()) return take_setting(known->second, key, value);
    if (const auto tree = config_.sections_.find(path); tree != config_.sections_.end()) {
      return take_section(tree->second, key, value);
    }
    const bool section = is_section(path);
    if (section && value.IsMap()) return take_map(value, path + ".");
    if (section && value.IsNull()) return;
    if (section) return add(place(key), path + ": is a section; its settings go below it");
    std::vector<std::string_view> known_keys = keys(config_.by_path_);
    for (const auto& [name, node] : config_.sections_) known_keys.push_back(name);
    add(place(key), path + ": " + unknown("no such setting", path, known_keys, ""));
  }

  void take_section(ConfigNode& node, const YAML::Node& key, const YAML::Node& value) {
    if (!node.key.empty()) return add(place(key), key.Scalar() + ": set twice");
    node.key = key.Scalar();
    node.place = place(key);
    std::size_t left = kConfigNodesMax;
    fill(node, value, kConfigDepthMax, left);
  }

  // Depth and number of nodes are limited, because YAML anchors can turn a small file into a huge or infinite
  // tree.
  void fill(ConfigNode& node, const YAML::Node& value, int depth, std::size_t& left) {
    if (depth == 0) return add(node.place, "nested deeper than " + std::to_string(kConfigDepthMax));
    if (value.IsScalar()) {
      node.kind = ConfigNode::Kind::kText;
      node.text = value.Scalar();
    }
    if (!value.IsMap() && !value.IsSequence()) return;
    node.kind = value.IsMap() ? ConfigNode::Kind::kMap : ConfigNode::Kind::kList;
    std::set<std::string> keys;  // of a map
    for (const auto& item : value) {
      if (left == 0) return add(node.place, "more than " + std::to_string(kConfigNodesMax) + " values");
      --left;
      value.IsMap() ? fill_member(node, keys, item.first, item.second, depth, left)
                    : fill(append(node, place(item), {}), item, depth - 1, left);
    }
  }

  void fill_member(ConfigNode& node, std::set<std::string>& keys, const YAML::Node& key,
                   const YAML::Node& value, int depth, std::size_t& left) {
    if (!key.IsScalar()) return add(place(key), "a key must be a word");
    if (!keys.insert(key.Scalar()).second) return add(place(key), key.Scalar() + ": set twice");
    fill(append(node, place(key), key.Scalar()), value, depth - 1, left);
  }

  static ConfigNode& append(ConfigNode& node, std::string place, std::string key) {
    ConfigNode& item = node.items.emplace_back();
    item.place = std::move(place);
    item.key = std::move(key);
    return item;
  }

  void take_setting(std::size_t index, const YAML::Node& key, const YAML::Node& value) {
    const Setting& setting = *config_.values_[index].setting;
    if (!in_file_.insert(index).second) {
      return add(place(key), std::string(setting.path) + ": set twice");
    }
    std::string text;
    if (!as_text(setting, value, text)) {
      return add(place(key), std::string(setting.path) + ": a single value is expected here");
    }
    set(index, text, place(key));
  }

  // A list may also be a sequence or a map of words (`{ocr: 2, stt: 2}` means `ocr=2,stt=2`).
  static bool as_text(const Setting& setting, const YAML::Node& value, std::string& text) {
    if (value.IsNull()) return true;
    if (value.IsScalar()) return text = value.Scalar(), true;
    if (setting.type != SettingType::kList) return false;
    for (const auto& item : value) {
      const bool pair = value.IsMap();
      if (pair ? !item.first.IsScalar() || !item.second.IsScalar() : !item.IsScalar()) return false;
      if (!text.empty()) text += ',';
      text += pair ? item.first.Scalar() + "=" + item.second.Scalar() : item.Scalar();
    }
    return true;
  }

  bool is_section(const std::string& path) const {
    const auto next = config_.by_path_.lower_bound(path + ".");
    return next != config_.by_path_.end() && next->first.starts_with(path + ".");
  }

  void set(std::size_t index, const std::string& text, const std::string& origin) {
    Config::Value& value = config_.values_[index];
    const Status checked = check_value(*value.setting, text);
    if (!checked) return add(origin, checked.error().message);
    value.text = text;
    value.origin = origin;
  }

  // The parser notices at the end of the file that a list or a map in brackets has no end.
  void add_yaml_problem(const YAML::Exception& problem) {
    const int line = problem.mark.is_null() ? 0 : problem.mark.line + 1;
    const YamlFault fault = yaml_fault(problem.msg, line, sources_.file_text);
    add(fault.line == 0 ? sources_.file_name : sources_.file_name + ":" + std::to_string(fault.line),
        "not YAML: " + fault.text);
  }

  std::string place(const YAML::Node& node) const { return place(node.Mark()); }
  std::string place(const YAML::Mark& mark) const {
    return mark.is_null() ? sources_.file_name : sources_.file_name + ":" + std::to_string(mark.line + 1);
  }

  void add(std::string place, std::string message, bool fatal = true) {
    config_.mistakes_.push_back({std::move(place), std::move(message), fatal});
  }

  Config& config_;
  const ConfigSources& sources_;
  std::set<std::size_t> in_file_;
};

Config Config::read(std::span<const Setting> table, const ConfigSources& sources) {
  Config config;
  for (const Setting& setting : table) {
    const Status checked = check_value(setting, setting.default_text);
    if (!checked) throw std::logic_error("default of " + checked.error().message);
    config.by_path_.emplace(setting.path, config.values_.size());
    config.values_.push_back({&setting, std::string(setting.default_text), "default"});
  }
  for (const std::string_view key : sources.sections) config.sections_.emplace(key, ConfigNode{});
  ConfigReader reader(config, sources);
  reader.take_file();
  reader.take_environment();
  reader.take_flags();
  return config;
}

bool Config::usable() const {
  return std::none_of(mistakes_.begin(), mistakes_.end(), [](const ConfigMistake& m) { return m.fatal; });
}

const Config::Value& Config::value(std::string_view path) const {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) throw std::logic_error("no setting is called " + std::string(path));
  return values_[found->second];
}

const Config::Value& Config::value(std::string_view path, SettingType type) const {
  const Value& found = value(path);
  if (found.setting->type != type) throw std::logic_error(std::string(path) + " is read as another type");
  return found;
}

bool Config::is_set(std::string_view path) const { return !value(path).text.empty(); }
const std::string& Config::text(std::string_view path) const {
  return value(path, SettingType::kString).text;
}
bool Config::boolean(std::string_view path) const { return bool_value(value(path, SettingType::kBool).text); }
const std::string& Config::origin(std::string_view path) const { return value(path).origin; }

const ConfigNode& Config::section(std::string_view key) const {
  const auto found = sections_.find(key);
  if (found == sections_.end()) throw std::logic_error("no section is called " + std::string(key));
  return found->second;
}

std::int64_t Config::integer(std::string_view path) const {
  const Value& found = value(path, SettingType::kInteger);
  return number_value(*found.setting, found.text);
}

std::int64_t Config::bytes(std::string_view path) const {
  const Value& found = value(path, SettingType::kBytes);
  return number_value(*found.setting, found.text);
}

std::chrono::milliseconds Config::duration(std::string_view path) const {
  const Value& found = value(path, SettingType::kDuration);
  return std::chrono::milliseconds(number_value(*found.setting, found.text));
}

std::vector<std::string> Config::list(std::string_view path) const {
  std::string_view rest = value(path, SettingType::kList).text;
  std::vector<std::string> out;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    out.emplace_back(trimmed(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return out;
}

std::vector<Config::EffectiveValue> Config::effective() const {
  std::vector<EffectiveValue> lines;
  for (const Value& v : values_) {
    const bool masked = v.setting->secret && !v.text.empty();
    lines.push_back({std::string(v.setting->path), masked ? "****" : v.text, v.origin});
  }
  return lines;
}

}  // namespace millrace::base
