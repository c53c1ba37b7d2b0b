#include "schemas/chat/chat_tokens.h"

#include <algorithm>
#include <array>

namespace millrace::schemas {
namespace {

// The class of a byte. A run of kOther that consists only of letters counts as kWord.
enum class Letter : std::uint8_t { kNone, kWord, kDigit, kSpace, kSign, kOther };

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

Letter kind_at(std::string_view text) {
  return text.empty() ? Letter::kNone : kLetters[static_cast<unsigned char>(text.front())];
}

// Calls `take(kind, run, rest)` for each run of one kind; `rest` is what follows it.
template <class Take>
void for_each_run(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const Letter kind = kind_at(text);
    std::size_t size = 1;
    while (size < text.size() && kLetters[static_cast<unsigned char>(text[size])] == kind) ++size;
    const std::string_view run = text.substr(0, size);
    text.remove_prefix(size);
    take(kind, run, text);
  }
}

std::int64_t rounded_up(std::size_t bytes, std::size_t per_token) {
  return static_cast<std::int64_t>((bytes + per_token - 1) / per_token);
}

bool is_cyrillic(char lead) { return lead == '\xD0' || lead == '\xD1'; }  // U+0400 to U+047F

// A long run of one punctuation character (a ruler) is a few tokens; in other runs, two characters often form
// one token.
std::int64_t sign_tokens(std::string_view run) {
  constexpr std::size_t kRuler = 4, kRulerToken = 32;
  std::int64_t rulers = 0;
  std::size_t others = 0;
  while (!run.empty()) {
    const std::size_t size = std::min(run.find_first_not_of(run.front()), run.size());
    if (size < kRuler) {
      others += size;
    } else {
      rulers += rounded_up(size, kRulerToken);
    }
    run.remove_prefix(size);
  }
  return rulers + rounded_up(others, 2);
}

std::int64_t blank_tokens(std::string_view run, Letter before, Letter behind) {
  if (run == " ") return behind == Letter::kDigit ? 1 : 0;  // it is part of the next word
  if (run.size() == 1 && before == Letter::kSign) return 0;
  return rounded_up(run.size(), 16);
}

// The tokens of a run of one kind. A token is a short word, a part of a long word, or a number of up to three
// digits. Cyrillic letters have two bytes, the characters of Asian scripts three.
std::int64_t tokens_of(Letter kind, std::string_view run, Letter before, Letter behind) {
  switch (kind) {
    case Letter::kWord:
      return rounded_up(run.size(), 6);
    case Letter::kDigit:
      return rounded_up(run.size(), 3);
    case Letter::kSpace:
      return blank_tokens(run, before, behind);
    case Letter::kSign:
      return sign_tokens(run);
    case Letter::kOther:
      return is_cyrillic(run.front()) ? rounded_up(2 * run.size(), 7) : rounded_up(2 * run.size(), 5);
    case Letter::kNone:
      break;
  }
  return 0;
}

// True: the two UTF-8 bytes are certainly a letter: U+00C0 to U+027F except × and ÷, or Cyrillic.
bool is_letter(char lead, char more) {
  if (is_cyrillic(lead)) return true;
  if (lead < '\xC3' || lead > '\xC9') return false;
  return lead != '\xC3' || (more != '\x97' && more != '\xB7');
}

bool is_lettered(std::string_view run) {
  if (run.size() % 2 != 0) return false;
  for (std::size_t at = 0; at < run.size(); at += 2) {
    if (!is_letter(run[at], run[at + 1])) return false;
  }
  return true;
}

// The minimum number of pieces that begin in a run. A run begins a piece unless it may continue the piece
// before it. A run of kOther may contain anything. A single punctuation character belongs to the letters
// after it, and "don't" may be one piece. In o200k_base, slashes at the beginning of a line belong to the
// punctuation at the end of the previous line.
std::int64_t least_pieces(Letter kind, std::string_view run, char last, Letter before, Letter behind) {
  if (before == Letter::kOther) return 0;
  switch (kind) {
    case Letter::kWord:
      return before == Letter::kWord || last == '\'' ? 0 : 1;
    case Letter::kDigit:
      return rounded_up(run.size(), 3);
    case Letter::kSpace:
      return before != Letter::kSign && run.size() > 1 ? 1 : 0;
    case Letter::kSign:
      if (before == Letter::kSpace && run.front() == '/') return 0;
      return run.size() > 1 || (behind != Letter::kWord && behind != Letter::kOther) ? 1 : 0;
    case Letter::kOther:
    case Letter::kNone:
      break;
  }
  return 0;
}

}  // namespace

std::int64_t estimated_tokens(std::string_view text) {
  if (text.empty()) return 0;
  std::int64_t tokens = 0;
  Letter before = Letter::kNone;
  for_each_run(text, [&](Letter kind, std::string_view run, std::string_view rest) {
    tokens += tokens_of(kind, run, before, kind_at(rest));
    before = kind;
  });
  return std::max<std::int64_t>(tokens, 1);
}

std::int64_t least_tokens(std::string_view text) {
  if (text.empty()) return 0;
  std::int64_t tokens = 0;
  Letter before = Letter::kNone;
  char last = '\0';
  for_each_run(text, [&](Letter kind, std::string_view run, std::string_view rest) {
    if (kind == Letter::kOther && is_lettered(run)) kind = Letter::kWord;
    const auto by_bytes = static_cast<std::int64_t>(run.size() / kTokenBytesMax);
    tokens += std::max(least_pieces(kind, run, last, before, kind_at(rest)), by_bytes);
    before = kind;
    last = run.back();
  });
  return std::max<std::int64_t>(tokens, 1);
}

}  // namespace millrace::schemas
