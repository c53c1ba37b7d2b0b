#pragma once
#include <cstdint>
#include <string_view>

namespace millrace::providers {

// The abilities of a Gemini model, derived from the generation in its name.
struct GeminiModel {
  enum class Thinking : std::uint8_t {
    kNone,    // before 2.5
    kBudget,  // 2.5, and names without a version: every thinking model accepts a budget
    kLevel,   // from 3
  };

  int major = 0, minor = 0;  // 0: not in the name
  bool is_pro = false, is_lite = false;

  Thinking thinking() const;
  std::int64_t budget_min() const;  // smallest budget other than 0
  std::int64_t budget_max() const;
  bool can_disable_thinking() const;  // accepts a budget of 0
  // The supported level nearest to `requested`, which is minimal, low, medium or high.
  std::string_view level(std::string_view requested) const;
  bool signs_calls() const;          // rejects its earlier calls if their signature is missing
  bool searches_with_tools() const;  // googleSearch together with functions
  bool formats_with_tools() const;   // a response format together with functions or googleSearch
};

GeminiModel gemini_model(std::string_view name);

}  // namespace millrace::providers
