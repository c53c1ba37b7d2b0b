#include "ai/engines/layout/number_shape.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace millrace::engines {
namespace {

constexpr float kMostNumbers = 0.6F;
constexpr std::size_t kSeveralNumbers = 3;
constexpr std::size_t kCommonFrom = 2;  // so many numbers of a column hold a character …
constexpr float kCommonPart = 0.2F;     // … and at least this fraction
constexpr std::string_view kPlain = "0123456789.,+-()% ";
constexpr std::size_t kMisreadMost = 2;  // characters of a number without a digit; a longer text is a word
constexpr std::size_t kCapitalsMost = 3;
constexpr std::size_t kCodeDigitsMost = 6;
constexpr std::string_view kLikeDigits = "0123456789SsLlIiOoQqZzBbGgTDAa&|!$?";

bool is_one_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> all;
  for (const char c : text) {
    const bool inside = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (inside && !all.empty()) {
      all.back() += c;
    } else {
      all.emplace_back(1, c);
    }
  }
  return all;
}

// The position of the mark before the decimals.
std::size_t point_of(std::string_view text) {
  const std::size_t at = text.find_last_of(".,");
  const bool inside = at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
                      is_one_digit(text[at - 1]) && is_one_digit(text[at + 1]);
  if (!inside) return std::string_view::npos;
  std::size_t end = at + 1;
  while (end < text.size() && is_one_digit(text[end])) ++end;
  return text[at] == ',' && end - at - 1 == 3 ? std::string_view::npos : at;
}

}  // namespace

std::size_t digits_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, is_one_digit));
}

std::size_t decimals_of(std::string_view text) {
  const std::size_t at = point_of(text);
  return at == std::string_view::npos ? 0 : digits_in(text.substr(at));
}

std::string with_marks(std::string_view number, const std::vector<NumberMark>& marks) {
  std::string out;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < number.size(); ++i) {
    const bool between = i > 0 && is_one_digit(number[i]) && is_one_digit(number[i - 1]);
    const auto mark = std::ranges::find(marks, digits, &NumberMark::digits);
    if (between && mark != marks.end()) out += mark->mark;
    out += number[i];
    if (is_one_digit(number[i])) ++digits;
  }
  return out;
}

namespace {

// The letters at the end of a number.
std::string_view unit_of(std::string_view text) {
  std::size_t from = text.size();
  while (from > 0 && std::isalpha(static_cast<unsigned char>(text[from - 1])) != 0) --from;
  return text.substr(from);
}

// A capital between digits is a part of a code, or a digit that is misread: the column tells.
bool has_letter_among_digits(std::string_view text) {
  const std::size_t first = text.find_first_of("0123456789"), last = text.find_last_of("0123456789");
  if (first == std::string_view::npos) return false;
  return std::ranges::any_of(text.substr(first, last - first),
                             [](unsigned char c) { return std::isupper(c) != 0; });
}

}  // namespace

NumberShape::NumberShape(const std::vector<std::string>& texts) : characters_(kPlain) {
  std::map<std::string, std::size_t> units, apart;
  std::map<std::size_t, std::size_t> decimals;
  std::map<std::string, std::size_t> others;
  std::map<char, std::size_t> points;
  std::size_t numbers = 0, codes = 0;
  for (const std::string& text : texts) {
    if (has_letter_among_digits(text)) ++codes;
    const auto all = characters_of(text);
    for (const std::string& each : std::set<std::string>(all.begin(), all.end())) {
      if (kPlain.find(each) == std::string_view::npos) ++others[each];
    }
    if (digits_in(text) == 0) continue;
    ++numbers;
    const std::string unit(unit_of(text));
    ++units[unit];
    if (text.size() > unit.size() && text[text.size() - unit.size() - 1] == ' ') ++apart[unit];
    ++decimals[decimals_of(text)];
    if (const std::size_t at = point_of(text); at != std::string::npos) ++points[text[at]];
  }
  const auto most = [&](std::size_t count) {
    return count >= kSeveralNumbers &&
           static_cast<float>(count) >= kMostNumbers * static_cast<float>(numbers);
  };
  are_codes_ = most(codes);
  for (const auto& [each, count] : others) {
    if (count >= kCommonFrom && static_cast<float>(count) >= kCommonPart * static_cast<float>(texts.size()))
      characters_ += each;
  }
  for (const auto& [unit, of] : units) {
    if (!most(of)) continue;
    unit_ = unit;
    unit_apart_ = 2 * apart[unit] >= of;
  }
  for (const auto& [count, of] : decimals) {
    if (!most(of)) continue;
    same_decimals_ = true;
    decimals_ = count;
  }
  for (const auto& [point, of] : points) {
    if (most(of)) point_ = point;
  }
}

std::string NumberShape::with_unit(std::string_view number) const {
  std::string text(number);
  if (!unit_.empty()) text.append(unit_apart_ ? " " : "").append(unit_);
  return text;
}

std::string NumberShape::spaced(const std::string& text) const {
  if (unit_.empty() || !text.ends_with(unit_)) return text;
  std::string number = text.substr(0, text.size() - unit_.size());
  while (number.ends_with(' ')) number.pop_back();
  const bool is_word = digits_in(number) == 0 && number.size() > kMisreadMost;
  return number.empty() || is_word ? text : with_unit(number);
}

bool NumberShape::has_only_known(std::string_view text) const {
  const auto all = characters_of(text);
  return digits_in(text) > 0 && std::ranges::all_of(all, [this](const std::string& each) {
           return characters_.find(each) != std::string::npos;
         });
}

bool NumberShape::fits(std::string_view text) const {
  if (!has_only_known(text) || !has_whole_brackets(text) || text.ends_with('.') || text.ends_with(','))
    return false;
  if (!unit_.empty() && text.ends_with(unit_)) {
    const std::string_view number = text.substr(0, text.size() - unit_.size());
    const auto is_misread = [](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0 &&
             kLikeDigits.find(c) != std::string_view::npos;
    };
    if (std::ranges::any_of(number, is_misread)) return false;
  }
  if (same_decimals_ && decimals_of(text) != decimals_) return false;
  const std::size_t at = point_of(text);
  return point_ == 0 || at == std::string_view::npos || text[at] == point_;
}

bool NumberShape::may_be_misread(std::string_view text) const {
  if (are_codes_ && has_letter_among_digits(text)) return false;
  const auto all = characters_of(text);
  std::string_view number = text;
  if (!unit_.empty() && number.ends_with(unit_)) number.remove_suffix(unit_.size());
  while (number.ends_with(' ')) number.remove_suffix(1);
  if (is_misread_number(text, unit_)) return true;
  if (digits_in(number) == 0 && number.size() > kMisreadMost) return false;
  return std::ranges::all_of(all, [this](const std::string& each) {
    return each == "§" || characters_.find(each) != std::string::npos ||
           kLikeDigits.find(each) != std::string_view::npos;
  });
}

namespace {

constexpr std::string_view kZeroes = "OoQ0aec";  // how a zero with a dot or a stroke is read
constexpr std::string_view kBrackets = "(){}[]";
constexpr std::size_t kShortMost = 8;
constexpr std::size_t kBracketedMost = 3;
constexpr std::size_t kUnitLetters = 3;

bool is_like_digit(char c) {
  return kLikeDigits.find(c) != std::string_view::npos || kZeroes.find(c) != std::string_view::npos;
}

std::string_view after_digits(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && (is_like_digit(text[at]) || text[at] == '.' || text[at] == ',')) ++at;
  if (at == 0) return {};
  text.remove_prefix(at);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

}  // namespace

bool has_whole_brackets(std::string_view text) {
  return std::ranges::count(text, '(') == std::ranges::count(text, ')') &&
         std::ranges::count(text, '{') == std::ranges::count(text, '}') &&
         std::ranges::count(text, '[') == std::ranges::count(text, ']');
}

bool is_misreading_of(std::string_view text, std::string_view number) {
  constexpr std::string_view kLetters = "OoQDlIi|", kDigits = "00001111";
  if (number.empty() || text.size() < number.size()) return false;
  for (std::size_t i = 0; i < number.size(); ++i) {
    const std::size_t letter = kLetters.find(text[i]);
    const bool like = letter != std::string_view::npos && kDigits[letter] == number[i];
    if (text[i] != number[i] && !like) return false;
  }
  return true;
}

bool begins_like_number(std::string_view text) {
  if (text.empty() || text.size() > kShortMost) return false;
  if (text.size() <= kBracketedMost && !has_whole_brackets(text)) return true;
  return is_like_digit(text.front()) && after_digits(text).size() <= kUnitLetters;
}

std::string unit_of_misread(const std::vector<std::string>& texts) {
  std::map<std::string, std::size_t> units;
  for (const std::string& text : texts) {
    const std::string_view unit = after_digits(text);
    if (!unit.empty() && unit_of(unit) == unit) ++units[std::string(unit)];
  }
  for (const auto& [unit, count] : units) {
    if (count >= kSeveralNumbers &&
        static_cast<float>(count) >= kMostNumbers * static_cast<float>(texts.size()))
      return unit;
  }
  return {};
}

bool is_misread_number(std::string_view text, std::string_view unit) {
  if (text.size() > kShortMost) return false;
  if (text.size() <= kBracketedMost && !has_whole_brackets(text)) return true;
  if (!unit.empty() && !text.ends_with(unit)) return false;
  text.remove_suffix(unit.size());
  while (text.ends_with(' ')) text.remove_suffix(1);
  return !text.empty() && text.size() <= kMisreadMost + 1 && std::ranges::all_of(text, is_like_digit);
}

bool is_code(std::string_view word) {
  std::size_t capitals = 0;
  while (capitals < word.size() && std::isupper(static_cast<unsigned char>(word[capitals])) != 0) ++capitals;
  if (capitals == 0 || capitals > kCapitalsMost) return false;
  word.remove_prefix(capitals);
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && word.size() <= kCodeDigitsMost && std::ranges::all_of(word, is_one_digit);
}

std::size_t code_prefix(const std::vector<std::string>& words) {
  std::map<std::size_t, std::size_t> prefixes;
  for (const std::string& word : words) {
    if (is_code(word)) ++prefixes[word.find_first_of("0123456789")];
  }
  for (const auto& [prefix, count] : prefixes) {
    if (count >= kSeveralNumbers &&
        static_cast<float>(count) >= kMostNumbers * static_cast<float>(words.size()))
      return prefix;
  }
  return 0;
}

std::size_t misread_like(std::string_view word, std::string_view model) {
  std::size_t prefix = 0;
  while (prefix < model.size() && std::islower(static_cast<unsigned char>(model[prefix])) != 0) ++prefix;
  const bool is_model = prefix > 0 && prefix < model.size() && prefix <= kCapitalsMost &&
                        std::ranges::all_of(model.substr(prefix), is_one_digit);
  if (!is_model || word.size() != model.size() || word == model) return 0;
  const bool same = word.substr(0, prefix) == model.substr(0, prefix);
  const std::string_view rest = word.substr(prefix);
  const bool misread = same && rest.find_first_not_of(kLikeDigits) == std::string_view::npos &&
                       !std::ranges::all_of(rest, is_one_digit);
  return misread ? prefix : 0;
}

bool may_be_code(std::string_view word, std::size_t prefix) {
  if (is_code(word) || word.size() <= prefix || word.size() > prefix + kCodeDigitsMost) return false;
  const std::string_view head = word.substr(0, prefix);
  const bool capitals =
      std::ranges::all_of(head, [](unsigned char c) { return std::isupper(c) != 0 || c == '-'; });
  return capitals && word.find_first_not_of(kLikeDigits, prefix) == std::string_view::npos;
}

}  // namespace millrace::engines
