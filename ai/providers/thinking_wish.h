#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "ai/providers/parameters.h"

namespace millrace::providers {

// How much a client wants the model to think: `thinking` and `reasoning_effort`, read together.
struct ThinkingWish {
  enum class Kind : std::uint8_t { kUnset, kOff, kOn };
  Kind kind = Kind::kUnset;
  bool adaptive = false;
  bool by_thinking = false;            // `thinking` was given
  std::optional<std::int64_t> budget;  // tokens
  std::string_view effort;             // empty: not given

  void drop(Parameters& report) const;  // what was given of the two
};
ThinkingWish take_thinking(Parameters& parameters);

// Tokens that an effort stands for where a provider counts them; nullopt: no such effort.
std::optional<std::int64_t> budget_of_effort(std::string_view effort);
std::string_view effort_of_budget(std::int64_t budget);  // low, medium or high

}  // namespace millrace::providers
