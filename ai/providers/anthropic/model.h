#pragma once
#include <cstdint>
#include <string_view>

namespace millrace::providers {

// The abilities of a Claude model, derived from the generation in its name.
struct ClaudeModel {
  enum class Thinking : std::uint8_t {
    kNone,      // before 3.7
    kBudget,    // up to 4.5: a number of tokens
    kAdaptive,  // from 4.6: the model decides; effort guides it
  };

  bool is_claude = false;    // false: another model behind the same API, treated like 4.0
  int major = 0, minor = 0;  // 0: not in the name
  bool at_least(int requested_major, int requested_minor) const;
  bool is_unversioned() const { return is_claude && major == 0; }

  Thinking thinking() const;
  bool can_disable_thinking() const;  // accepts `disabled`; others do not think by default, or always think
  bool always_thinks() const;
  bool hides_thinking() const;  // unless a summary is requested
  bool supports_sampling() const;
  bool supports_both_sampling() const;  // temperature and top_p together
  bool supports_formats() const;        // structured outputs, strict tools
  bool supports_prefill() const;        // the conversation may end with the beginning of the answer
  std::int64_t output_default() const;  // tokens, if the request gives no limit
};

ClaudeModel claude_model(std::string_view name);

}  // namespace millrace::providers
