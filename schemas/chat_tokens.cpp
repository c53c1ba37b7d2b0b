#include <algorithm>
#include <array>

#include "schemas/chat_reply.h"

namespace millrace::schemas {
namespace {

enum class Letter : std::uint8_t { kWord, kDigit, kSpace, kSign, kOther };

constexpr Letter letter(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Letter::kWord;
  if (c >= '0' && c <= '9') return Letter::kDigit;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return Letter::kSpace;
  return static_cast<unsigned char>(c) < 0x80 ? Letter::kSign : Letter::kOther;
}

constexpr std::array<Letter, 256> letters() {
  std::array<Letter, 256> kinds{};
  for (std::size_t byte = 0; byte < kinds.size(); ++byte) kinds[byte] = letter(static_cast<char>(byte));
  return kinds;
}
constexpr std::array<Letter, 256> kLetters = letters();

std::int64_t rounded_up(std::size_t bytes, std::size_t per_token) {
  return static_cast<std::int64_t>((bytes + per_token - 1) / per_token);
}

// Of a run of one kind. A tokenizer's words are short ones, or parts of long ones; its numbers have up to
// three digits; one space belongs to the word behind it.
std::int64_t tokens_of(Letter kind, std::string_view run) {
  switch (kind) {
    case Letter::kWord:
      return rounded_up(run.size(), 6);
    case Letter::kDigit:
      return rounded_up(run.size(), 3);
    case Letter::kSpace:
      return run == " " ? 0 : rounded_up(run.size(), 4);
    case Letter::kSign:
      return static_cast<std::int64_t>(run.size());
    case Letter::kOther:
      return rounded_up(run.size(), 2);
  }
  return 0;
}

}  // namespace

std::int64_t estimated_tokens(std::string_view text) {
  if (text.empty()) return 0;
  std::int64_t tokens = 0;
  while (!text.empty()) {
    const Letter kind = kLetters[static_cast<unsigned char>(text.front())];
    std::size_t size = 1;
    while (size < text.size() && kLetters[static_cast<unsigned char>(text[size])] == kind) ++size;
    tokens += tokens_of(kind, text.substr(0, size));
    text.remove_prefix(size);
  }
  return std::max<std::int64_t>(tokens, 1);
}

}  // namespace millrace::schemas
