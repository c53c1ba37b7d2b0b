#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/config.h"

namespace millrace::app {

// One map of a file of LiteLLM. What nobody has asked for is told at the end: nothing of it is lost in
// silence.
class LitellmMap {
 public:
  // `name` stands before each key in a note: "litellm_params". What is no map has no members, and is told.
  LitellmMap(const base::ConfigNode& node, std::string name, std::vector<std::string>& notes);

  const base::ConfigNode* take(std::string_view key);  // null: not there, or without a value
  std::optional<std::string> text(std::string_view key);
  std::optional<std::int64_t> whole(std::string_view key);  // 1 to 1,000,000,000, the most of a count here
  std::optional<double> number(std::string_view key);       // 0 and more, and finite
  // "litellm.yaml:4: litellm_params.KEY: WHY"
  void note(std::string_view key, const std::string& why);
  // A note for each member that was not taken.
  void leave_rest();

 private:
  const base::ConfigNode* find(std::string_view key) const;

  const base::ConfigNode& node_;
  std::string name_;
  std::vector<std::string>& notes_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace millrace::app
