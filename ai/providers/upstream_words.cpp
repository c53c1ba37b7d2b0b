#include "ai/providers/upstream_words.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ai/providers/wire_words.h"

namespace millrace::providers {
namespace {

constexpr std::size_t kKeyTailMin = 6;     // characters after a prefix that make it a key
constexpr std::size_t kRandomRunMin = 24;  // letters and digits in one run that look like a secret
constexpr std::string_view kMask = "***";

// What keys begin with.
constexpr std::array<std::string_view, 13> kKeyPrefixes{
    "sk-", "sk_", "xai-", "gsk_", "AIza", "pk-", "key-", "nvapi-", "pplx-", "hf_", "r8_", "aoai-", "Bearer "};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_key_character(char c) {
  return is_word(c) || c == '-' || c == '_' || c == '*' || c == '.' || c == '+' || c == '/' || c == '=';
}

std::size_t run_of(std::string_view text, bool (*belongs)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, belongs) - text.begin());
}

// Length of the key that `text` begins with; 0: none.
std::size_t key_at(std::string_view text) {
  for (const std::string_view prefix : kKeyPrefixes) {
    if (!text.starts_with(prefix)) continue;
    const std::size_t tail = run_of(text.substr(prefix.size()), is_key_character);
    if (tail >= kKeyTailMin) return prefix.size() + tail;
  }
  const std::string_view run = text.substr(0, run_of(text, is_word));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool mixed = std::ranges::any_of(run, is_digit) && !std::ranges::all_of(run, is_digit);
  return run.size() >= kRandomRunMin && mixed ? run.size() : 0;
}

}  // namespace

std::string upstream_words(std::string_view text) {
  text = text.substr(0, 4 * kUpstreamWordsMax);
  std::string out;
  bool in_word = false;
  while (!text.empty()) {
    if (const std::size_t key = in_word ? 0 : key_at(text); key > 0) {
      out.append(kMask);
      text.remove_prefix(key);
      continue;
    }
    const char c = text.front();
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (!is_control) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
    in_word = is_word(c);
    text.remove_prefix(1);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return std::string(cut_text(out, kUpstreamWordsMax));
}

}  // namespace millrace::providers
