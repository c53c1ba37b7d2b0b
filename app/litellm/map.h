#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/config.h"

namespace millrace::app {

// One map of a LiteLLM file. Keys that were not read are listed at the end, so that nothing is dropped
// without a note.
class LitellmMap {
 public:
  // `name` precedes each key in a note: "litellm_params". A node that is not a map has no members and gets a
  // note.
  LitellmMap(const base::ConfigNode& node, std::string name, std::vector<std::string>& notes);

  const base::ConfigNode* take(std::string_view key);  // null: absent, or without a value
  std::optional<std::string> text(std::string_view key);
  // 1 to 1,000,000,000, the maximum of a count.
  std::optional<std::int64_t> whole(std::string_view key);
  std::optional<double> number(std::string_view key);  // finite, at least 0
  // "litellm.yaml:4: litellm_params.KEY: WHY"
  void note(std::string_view key, const std::string& why);
  // Adds a note for each member that was not read.
  void note_unread_members();

 private:
  const base::ConfigNode* find(std::string_view key) const;

  const base::ConfigNode& node_;
  std::string name_;
  std::vector<std::string>& notes_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace millrace::app
