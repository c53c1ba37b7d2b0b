#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/setting.h"

namespace millrace::base {

// The sources of settings, in ascending order of precedence. An empty source is allowed.
struct ConfigSources {
  std::string file_name = {};  // for messages
  std::string file_text = {};  // YAML in UTF-8
  std::map<std::string, std::string> environment =
      {};                                              // the whole environment; only MILLRACE_ names are read
  std::map<std::string, std::string> flags = {};       // without dashes: by `flag_name` or alias
  std::vector<std::string_view> other_variables = {};  // known MILLRACE_ names that are not settings
  std::vector<std::string_view> sections = {};  // top-level keys of the file that are read as a ConfigNode
};

// An unparsed part of the file for data that is not a setting, such as a list of objects.
struct ConfigNode {
  enum class Kind : std::uint8_t { kNone, kText, kList, kMap };
  Kind kind = Kind::kNone;
  std::string place;              // "millrace.yaml:12"; for a member of a map: the position of its key
  std::string key;                // if it is a member of a map
  std::string text;               // kText
  std::vector<ConfigNode> items;  // elements of a list, or members of a map with unique keys
};
// Limits for the file and for a section.
inline constexpr std::size_t kConfigBytesMax = std::size_t{4} << 20;
inline constexpr int kConfigDepthMax = 8;
inline constexpr std::size_t kConfigNodesMax = 65'536;

struct ConfigMistake {
  std::string place;    // "millrace.yaml:12", "MILLRACE_LISTEN", "--listen"
  std::string message;  // names the nearest known key, or the limit
  bool fatal = true;    // false: an unknown variable; another program may use it
};

// The effective settings. Precedence: flag > environment > file > default. Immutable after `read`;
// thread-safe.
class Config {
 public:
  // Never fails. All mistakes are collected. A setting with an invalid value keeps the valid value of the
  // source with the next lower precedence.
  static Config read(std::span<const Setting> table, const ConfigSources& sources);

  const std::vector<ConfigMistake>& mistakes() const { return mistakes_; }
  bool usable() const;  // true if no mistake is fatal

  // `path` must be the path of a row with the matching type. Otherwise std::logic_error is thrown.
  bool is_set(std::string_view path) const;  // the value is not empty
  const std::string& text(std::string_view path) const;
  bool boolean(std::string_view path) const;
  std::int64_t integer(std::string_view path) const;
  std::int64_t bytes(std::string_view path) const;
  std::chrono::milliseconds duration(std::string_view path) const;
  std::vector<std::string> list(std::string_view path) const;
  // "default", "millrace.yaml:12", "MILLRACE_LISTEN" or "--listen".
  const std::string& origin(std::string_view path) const;

  // The section of the file with this key, which must be one of ConfigSources::sections. kNone: the file does
  // not have it.
  const ConfigNode& section(std::string_view key) const;

  // A line of `config check`. Lines are in the order of the table; secrets are masked.
  struct EffectiveValue {
    std::string path, value, origin;
  };
  std::vector<EffectiveValue> effective() const;

 private:
  friend class ConfigReader;
  struct Value {
    const Setting* setting;
    std::string text;
    std::string origin;
  };
  const Value& value(std::string_view path, SettingType type) const;
  const Value& value(std::string_view path) const;

  std::vector<Value> values_;  // in the order of the table
  std::map<std::string, std::size_t, std::less<>> by_path_;
  std::map<std::string, ConfigNode, std::less<>> sections_;
  std::vector<ConfigMistake> mistakes_;
};

}  // namespace millrace::base
