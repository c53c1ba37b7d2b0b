#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/config.h"

namespace millrace::app {

// Reads one map of a section with a fixed set of keys. Every mistake is recorded with its line. A getter
// returns nullopt for a value that is absent or invalid.
class SectionMap {
 public:
  // `name` precedes each key in a mistake: "machines". Unknown keys are recorded as mistakes by the
  // constructor.
  SectionMap(const base::ConfigNode& node, std::string name, std::span<const std::string_view> keys,
             std::vector<base::ConfigMistake>& mistakes);

  bool is_map() const { return node_.kind == base::ConfigNode::Kind::kMap; }
  const base::ConfigNode* find(std::string_view key) const;  // null: absent
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::int64_t> whole(std::string_view key, std::int64_t least, std::int64_t most);
  std::optional<double> number(std::string_view key, double least, double most);
  std::optional<std::vector<std::string>> words(std::string_view key);
  // The place of the key, or of the map if the key is absent.
  const std::string& place(std::string_view key) const;
  // Records the mistake "NAME.KEY: WHY" at the key's place.
  void mistake(std::string_view key, const std::string& why);

 private:
  const base::ConfigNode& node_;
  std::string name_;
  std::vector<base::ConfigMistake>& mistakes_;
};

// The line number in `file` of a place or note such as "millrace.yaml:12"; 0: the whole file. Texts of other
// sources get the highest number, so that they sort last.
int place_line(std::string_view text, std::string_view file);

}  // namespace millrace::app
