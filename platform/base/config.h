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

// Where the values come from; the strongest last. An absent source is an empty one.
struct ConfigSources {
  std::string file_name = {};  // for messages
  std::string file_text = {};  // YAML
  std::map<std::string, std::string> environment =
      {};                                              // all of it; names outside MILLRACE_ are not looked at
  std::map<std::string, std::string> flags = {};       // without dashes: by `flag_name` or its alias
  std::vector<std::string_view> other_variables = {};  // MILLRACE_ names that are known and no settings
  std::vector<std::string_view> sections = {};         // top keys of the file that are read as a ConfigNode
};

// A part of the file as it stands there, for what is no setting: a list of things.
struct ConfigNode {
  enum class Kind : std::uint8_t { kNone, kText, kList, kMap };
  Kind kind = Kind::kNone;
  std::string place;              // "millrace.yaml:12"; of a member: where its key stands
  std::string key;                // of a map's member
  std::string text;               // kText
  std::vector<ConfigNode> items;  // of a list; of a map: its members, no key twice
};
// Bounds of a section.
inline constexpr int kConfigDepthMax = 8;
inline constexpr std::size_t kConfigNodesMax = 65'536;

struct ConfigMistake {
  std::string place;    // "millrace.yaml:12", "MILLRACE_LISTEN", "--listen"
  std::string message;  // names the nearest right key, or the bound
  bool fatal = true;    // false: an unknown variable, which may belong to someone else
};

// The effective settings. Precedence: flag > environment > file > default. Immutable once read; thread-safe.
class Config {
 public:
  // Never fails: every mistake is collected, and a setting with a wrong value keeps the next weaker right
  // one.
  static Config read(std::span<const Setting> table, const ConfigSources& sources);

  const std::vector<ConfigMistake>& mistakes() const { return mistakes_; }
  bool usable() const;  // no fatal mistake

  // `path` is that of a row with the matching type; anything else is a programmer's error (std::logic_error).
  bool is_set(std::string_view path) const;  // not empty
  const std::string& text(std::string_view path) const;
  bool boolean(std::string_view path) const;
  std::int64_t integer(std::string_view path) const;
  std::int64_t bytes(std::string_view path) const;
  std::chrono::milliseconds duration(std::string_view path) const;
  std::vector<std::string> list(std::string_view path) const;
  // "default", "millrace.yaml:12", "MILLRACE_LISTEN" or "--listen".
  const std::string& origin(std::string_view path) const;

  // The section of the file with this key, one of ConfigSources::sections; kNone: it is not there.
  const ConfigNode& section(std::string_view key) const;

  // One line of `config check`, in the order of the table; secrets are masked.
  struct Line {
    std::string path, value, origin;
  };
  std::vector<Line> effective() const;

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
