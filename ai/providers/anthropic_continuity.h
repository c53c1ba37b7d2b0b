#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"

namespace millrace::providers {

// What Anthropic wants to see again of an answer (ChatChoice::continuity): its thinking with signatures, and
// where text and calls stood between.
class AnthropicContinuity {
 public:
  void thinking(std::string_view text, std::string_view signature);  // unsigned: forgotten, it cannot be told
  void redacted(std::string_view data);
  void text();
  void call(std::string_view id);
  // Empty: no thinking, so nothing has to be told again.
  std::string take();

  // The blocks of an earlier answer, in order: whole ones of thinking, {"type": "text"} and {"type":
  // "tool_use", "id"} for the others. Empty for another provider's, or none.
  static Json blocks(std::string_view continuity);

 private:
  Json blocks_ = Json::array();
  bool thinks_ = false;
};

}  // namespace millrace::providers
