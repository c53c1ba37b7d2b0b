#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/config.h"

namespace millrace::app {

// One map of a section, whose keys are known. Every mistake is added with its line; what is read then is
// nullopt, as is what is not there.
class SectionMap {
 public:
  // `name` stands before each key in a mistake: "machines". Unknown keys are mistakes at once.
  SectionMap(const base::ConfigNode& node, std::string name, std::span<const std::string_view> keys,
             std::vector<base::ConfigMistake>& mistakes);

  bool is_map() const { return node_.kind == base::ConfigNode::Kind::kMap; }
  const base::ConfigNode* find(std::string_view key) const;  // null: not there
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::int64_t> whole(std::string_view key, std::int64_t least, std::int64_t most);
  std::optional<double> number(std::string_view key, double least, double most);
  std::optional<std::vector<std::string>> words(std::string_view key);
  // Of the key, or of the map where it is missing.
  const std::string& place(std::string_view key) const;
  // "NAME.KEY: WHY", at its place.
  void mistake(std::string_view key, const std::string& why);

 private:
  const base::ConfigNode& node_;
  std::string name_;
  std::vector<base::ConfigMistake>& mistakes_;
};

// The line of `file` that a place or a note of it begins with ("millrace.yaml:12"; 0: the file as a whole);
// what stands elsewhere has the highest number there is, and so comes after all of them.
int place_line(std::string_view text, std::string_view file);

}  // namespace millrace::app
