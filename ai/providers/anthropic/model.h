#pragma once
#include <cstdint>
#include <string_view>

namespace millrace::providers {

// What a Claude model takes, by the generation that its name tells.
struct ClaudeModel {
  enum class Thinking : std::uint8_t {
    kNone,      // before 3.7
    kBudget,    // to 4.5: a count of tokens
    kAdaptive,  // from 4.6: the model decides; effort guides it
  };

  bool is_claude = false;    // another model behind the same API: taken for one of 4.0
  int major = 0, minor = 0;  // 0: the name does not say
  bool at_least(int requested_major, int requested_minor) const;
  bool is_unversioned() const { return is_claude && major == 0; }

  Thinking thinking() const;
  bool takes_thinking_off() const;  // `disabled`; others are silent by default, or never
  bool always_thinks() const;
  bool hides_thinking() const;  // unless asked for a summary
  bool takes_sampling() const;
  bool takes_both_sampling() const;     // temperature and top_p at once
  bool takes_formats() const;           // structured outputs, strict tools
  std::int64_t output_default() const;  // tokens, where the request names none
};

ClaudeModel claude_model(std::string_view name);

}  // namespace millrace::providers
