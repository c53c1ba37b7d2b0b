#include "ai/engines/host/audio/lexicon.h"

#include <algorithm>
#include <clocale>
#include <cwctype>
#include <fstream>
#include <utility>
#include <vector>

#include "ai/engines/layout/code_points.h"

namespace millrace::engines::host {
namespace {

constexpr std::string_view kSentenceMarks = ",.;:!?";
constexpr std::string_view kEntrySeparator = "||";

void append_utf8(std::uint32_t point, std::string& to) {
  if (point < 0x80) {
    to += static_cast<char>(point);
  } else if (point < 0x800) {
    to += static_cast<char>(0xC0U | (point >> 6U));
    to += static_cast<char>(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    to += static_cast<char>(0xE0U | (point >> 12U));
    to += static_cast<char>(0x80U | ((point >> 6U) & 0x3FU));
    to += static_cast<char>(0x80U | (point & 0x3FU));
  } else {
    to += static_cast<char>(0xF0U | (point >> 18U));
    to += static_cast<char>(0x80U | ((point >> 12U) & 0x3FU));
    to += static_cast<char>(0x80U | ((point >> 6U) & 0x3FU));
    to += static_cast<char>(0x80U | (point & 0x3FU));
  }
}

// The locale of every process here is C.UTF-8 (EngineChild::start).
std::uint32_t lowered(std::uint32_t point) {
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (point < 0x80 || utf8 == nullptr) return point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
  return static_cast<std::uint32_t>(::towlower_l(static_cast<std::wint_t>(point), utf8));
}

bool ends_word(std::uint32_t point) {
  return point <= ' ' || point == '"' || point == '(' || point == ')' || point == '[' || point == ']' ||
         point == 0xA0 || point == 0xAB || point == 0xBB || point == 0xBF || point == 0xA1 ||
         (point >= 0x2010 && point <= 0x203A && point != 0x2019 && point != 0x2010 && point != 0x2011);
}

// Words in lower case, and marks as tokens of their own. A dash is a comma, and an ellipsis a full stop.
std::vector<std::string> tokens_of(std::string_view sentence) {
  std::vector<std::string> tokens;
  std::string word;
  const auto end_word = [&] {
    while (word.ends_with('\'') || word.ends_with('-')) word.pop_back();
    if (!word.empty()) tokens.push_back(std::exchange(word, {}));
  };
  for (const std::uint32_t point : code_points(sentence)) {
    const bool is_dash = point == 0x2013 || point == 0x2014;
    if (is_dash || point == 0x2026 ||
        (point < 0x80 && kSentenceMarks.find(static_cast<char>(point)) != std::string_view::npos)) {
      end_word();
      tokens.emplace_back(1, is_dash ? ',' : point == 0x2026 ? '.' : static_cast<char>(point));
    } else if (ends_word(point)) {
      end_word();
    } else if (point == 0x2019 || point == '\'') {
      if (!word.empty()) word += '\'';
    } else {
      append_utf8(point == 0x2010 || point == 0x2011 ? '-' : lowered(point), word);
    }
  }
  end_word();
  return tokens;
}

bool is_mark(const std::string& token) {
  return token.size() == 1 && kSentenceMarks.find(token.front()) != std::string_view::npos;
}

// A word has a letter or a digit; every character beyond ASCII counts as one.
bool is_word(const std::string& token) {
  return std::any_of(token.begin(), token.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isalnum(byte) != 0;
  });
}

std::u32string without_blanks(std::string_view phones) {
  std::u32string out;
  for (const std::uint32_t point : code_points(phones))
    if (point > ' ') out += static_cast<char32_t>(point);
  return out;
}

std::string joined(const std::vector<std::string>& tokens, std::size_t from, std::size_t count) {
  std::string out;
  for (std::size_t i = from; i < from + count; ++i) out.append(i == from ? "" : " ").append(tokens[i]);
  return out;
}

}  // namespace

base::Result<Lexicon> Lexicon::read(const std::string& path) {
  Lexicon lexicon;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    std::size_t end = line.find(kEntrySeparator), skipped = kEntrySeparator.size();
    if (end == std::string::npos) end = line.find_first_of(" \t"), skipped = 1;
    if (end == std::string::npos) continue;
    const std::vector<std::string> words = tokens_of(std::string_view(line).substr(0, end));
    std::u32string phones = without_blanks(std::string_view(line).substr(end + skipped));
    if (words.empty() || phones.empty()) continue;
    lexicon.words_max_ = std::max(lexicon.words_max_, words.size());
    lexicon.entries_.emplace(joined(words, 0, words.size()), std::move(phones));
  }
  if (!lexicon.entries_.empty()) return lexicon;
  return base::error(base::Code::kInternal, "the voice's lexicon has no line `word || phonemes`");
}

std::size_t Lexicon::longest_match(const std::vector<std::string>& tokens, std::size_t at,
                                   const std::u32string*& found) const {
  for (std::size_t count = std::min(words_max_, tokens.size() - at); count > 0; --count) {
    const auto entry = entries_.find(joined(tokens, at, count));
    if (entry == entries_.end()) continue;
    found = &entry->second;
    return count;
  }
  return 0;
}

std::u32string Lexicon::phonemes(std::string_view sentence, const Otherwise& otherwise,
                                 std::vector<std::string>& missing) const {
  const std::vector<std::string> tokens = tokens_of(sentence);
  std::u32string out;
  const auto add = [&out](const std::u32string& phones) {
    if (!out.empty()) out += U' ';
    out += phones;
  };
  for (std::size_t at = 0; at < tokens.size();) {
    const std::u32string* found = nullptr;
    const std::size_t count = longest_match(tokens, at, found);
    if (count > 0) {
      add(*found);
      at += count;
      continue;
    }
    const std::string& token = tokens[at++];
    if (is_mark(token)) {
      if (!out.empty()) out += static_cast<char32_t>(token.front());
    } else if (is_word(token)) {
      const std::u32string phones = otherwise(token);
      phones.empty() ? missing.push_back(token) : add(phones);
    }
  }
  return out;
}

}  // namespace millrace::engines::host
