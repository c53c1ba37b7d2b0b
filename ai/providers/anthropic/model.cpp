#include "ai/providers/anthropic/model.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace millrace::providers {
namespace {

// "4" and "05", but not "20250514".
std::optional<int> version_number(std::string_view word) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (word.empty() || word.size() > 2 || !std::all_of(word.begin(), word.end(), is_digit))
    return std::nullopt;
  int number = 0;
  for (const char c : word) number = number * 10 + (c - '0');
  return number;
}

std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find_first_of("-.@:/_"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

}  // namespace

ClaudeModel claude_model(std::string_view name) {
  ClaudeModel model;
  const std::size_t begin = name.find("claude");
  if (begin == std::string_view::npos) return model;
  model.is_claude = true;
  std::string_view rest = name.substr(begin);
  while (!rest.empty()) {
    const std::optional<int> major = version_number(next_word(rest));
    if (!major) continue;
    model.major = *major;
    model.minor = version_number(next_word(rest)).value_or(0);
    break;
  }
  return model;
}

bool ClaudeModel::at_least(int requested_major, int requested_minor) const {
  if (is_unversioned()) return true;
  if (!is_claude) return std::tie(requested_major, requested_minor) <= std::make_tuple(4, 0);
  return std::tie(major, minor) >= std::tie(requested_major, requested_minor);
}

ClaudeModel::Thinking ClaudeModel::thinking() const {
  if (!at_least(3, 7)) return Thinking::kNone;
  return at_least(4, 6) ? Thinking::kAdaptive : Thinking::kBudget;
}

bool ClaudeModel::can_disable_thinking() const { return at_least(3, 7) && !at_least(4, 7); }
bool ClaudeModel::always_thinks() const { return at_least(5, 0) && !is_unversioned(); }
bool ClaudeModel::hides_thinking() const { return at_least(4, 7); }
bool ClaudeModel::supports_sampling() const { return is_unversioned() || !at_least(4, 7); }
bool ClaudeModel::supports_both_sampling() const { return !at_least(4, 1); }
bool ClaudeModel::supports_formats() const { return at_least(4, 5); }
bool ClaudeModel::supports_prefill() const { return !at_least(4, 6); }

std::int64_t ClaudeModel::output_default() const {
  if (!is_claude) return 8'192;
  if (!at_least(3, 5)) return 4'096;
  if (!at_least(3, 7)) return 8'192;
  return at_least(4, 5) ? 64'000 : 32'000;
}

}  // namespace millrace::providers
