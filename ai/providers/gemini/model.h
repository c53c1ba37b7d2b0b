#pragma once
#include <cstdint>
#include <string_view>

namespace millrace::providers {

// What a Gemini model takes, by the generation that its name tells.
struct GeminiModel {
  enum class Thinking : std::uint8_t {
    kNone,    // before 2.5
    kBudget,  // 2.5, and names without a version: all that think take it
    kLevel,   // from 3
  };

  int major = 0, minor = 0;  // 0: the name does not say
  bool is_pro = false, is_lite = false;

  Thinking thinking() const;
  std::int64_t budget_min() const;  // the least that it takes but 0
  std::int64_t budget_max() const;
  bool may_not_think() const;  // takes a budget of 0
  // The nearest level that it knows to one of minimal, low, medium, high.
  std::string_view level(std::string_view requested) const;
  bool signs_calls() const;          // refuses a call of its own without the signature
  bool searches_with_tools() const;  // googleSearch together with functions
};

GeminiModel gemini_model(std::string_view name);

}  // namespace millrace::providers
