#pragma once
#include <string>
#include <string_view>

#include "ai/providers/json_access.h"

namespace millrace::providers {

// The signatures that Gemini wants to see again (ChatChoice::continuity): of calls by their ids, and of the
// text.
class GeminiContinuity {
 public:
  void call(std::string_view id, std::string_view signature);  // an empty one is none
  void text(std::string_view signature);
  std::string take();  // empty: nothing was signed

  // Of an earlier answer; without anything for another provider's, or none.
  static GeminiContinuity read(std::string_view continuity);
  std::string_view of_call(std::string_view id) const;
  std::string_view of_text() const;

 private:
  Json signatures_ = Json::object();
};

}  // namespace millrace::providers
