#include "ai/engines/layout/markers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {
namespace {

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& set) {
  return std::find(set.begin(), set.end(), word) != set.end();
}

constexpr std::array<std::string_view, 7> kBullets{"•", "∙", "·", "–", "-", "*", "⁃"};
// Single characters from … to: bullets, arrows, shapes, boxes and hands, dingbats but for numbers, private
// use. Symbol fonts map their bullets to the private use area.
constexpr std::pair<std::string_view, std::string_view> kSymbols[] = {
    {"‣", "‣"}, {"⁌", "⁍"}, {"←", "⇿"},  {"■", "◿"}, {"☐", "☒"},
    {"☙", "☟"}, {"✓", "❵"}, {"➔", "➿"}, {"⬀", "⯿"}, {"\ue000", "\uf8ff"}};
constexpr std::array<std::string_view, 17> kMisread{"e",  "o",  "¢", "«", "°",  "®", "+", "©", "»",
                                                    "¢.", "e.", "O", "0", "*.", "@", "¥", "."};

bool digit(char c) { return c >= '0' && c <= '9'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), digit);
}

bool roman(std::string_view text) {
  return !text.empty() && text.size() <= 4 && text.find_first_not_of("ivx") == std::string_view::npos;
}

int number_of(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

int roman_value(std::string_view text) {
  const auto value = [](char c) { return c == 'x' ? 10 : c == 'v' ? 5 : 1; };
  int sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool less = i + 1 < text.size() && value(text[i]) < value(text[i + 1]);
    sum += less ? -value(text[i]) : value(text[i]);
  }
  return sum;
}

std::string_view trimmed(std::string_view text, std::string_view set) {
  const auto from = text.find_first_not_of(set);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(set) - from + 1);
}

// In U+0100 … U+017F a lower-case letter mostly follows its capital: tells which of the two it is.
bool lower_of_extended(unsigned first, unsigned second) {
  const unsigned code = (first & 0x1FU) << 6 | (second & 0x3FU);
  const bool capital_is_odd = (code >= 0x138 && code <= 0x148) || (code >= 0x179 && code <= 0x17E);
  return (code % 2 == 1) != capital_is_odd;
}
bool is_extended(unsigned first) { return first == 0xC4 || first == 0xC5; }

// Letters outside ASCII are UTF-8. In Latin-1 the lower-case letters begin at U+00DF.
bool lower_end(std::string_view text) { return !text.empty() && (lower(text.back()) || text.back() < 0); }
bool lower_begin(std::string_view text) {
  if (text.empty()) return false;
  const auto first = static_cast<unsigned char>(text.front());
  const unsigned second = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0;
  if (first == 0xC3) return second >= 0x9F;
  if (is_extended(first)) return lower_of_extended(first, second);
  if (first == 0xCE) return second >= 0xAC;  // Greek
  if (first == 0xD0) return second >= 0xB0;  // Cyrillic
  return lower(text.front()) || (first >= 0xC6 && first <= 0xD1);
}

// Length of the hyphen at the end: "-", U+2010 or the soft hyphen U+00AD; 0: none.
std::size_t hyphen_length(std::string_view text) {
  if (text.ends_with("\u2010")) return 3;
  if (text.ends_with("\u00ad")) return 2;
  return text.ends_with('-') ? 1 : 0;
}

// Chinese and Japanese have no spaces between words; `at`: the first byte of a letter.
bool has_no_spaces(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const auto first = static_cast<unsigned char>(text[at]);
  const unsigned second = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0;
  return (first >= 0xE3 && first <= 0xE9) || (first == 0xEF && (second == 0xBC || second == 0xBD));
}

}  // namespace

bool is_bullet(std::string_view word) {
  // UTF-8 has the order of the code points; all of these have three bytes.
  return one_of(word, kBullets) ||
         (word.size() == 3 && std::ranges::any_of(kSymbols, [word](const auto& range) {
            return word >= range.first && word <= range.second;
          }));
}

bool is_content_symbol(std::string_view word) {
  const auto within = [word](std::string_view from, std::string_view to) {
    return word >= from && word <= to;
  };
  return word.size() == 3 && (word == "↑" || word == "↓" || within("▲", "▵") || within("▼", "▿") ||
                              within("☐", "☒") || within("✕", "✘"));
}

bool is_speech_dash(std::string_view word) { return word.starts_with("—"); }

bool is_misread_bullet(std::string_view word) { return one_of(word, kMisread); }

bool is_item_number(std::string_view word) {
  const bool both = word.starts_with('(') && word.ends_with(')');
  if (!both && !word.ends_with('.') && !word.ends_with(')')) return false;
  const std::string_view inside = word.substr(both ? 1 : 0, word.size() - (both ? 2 : 1));
  if (all_digits(inside)) return inside.size() <= 3;
  return roman(inside) || (inside.size() == 1 && (lower(inside[0]) || upper(inside[0])));
}

bool is_list_marker(std::string_view word) { return is_bullet(word) || is_item_number(word); }

bool follows_on(std::string_view before, std::string_view after) {
  if (before.size() < 2 || after.size() < 2 || before.back() != after.back()) return false;
  if ((before.front() == '(') != (after.front() == '(')) return false;
  const std::size_t from = before.front() == '(' ? 1 : 0;
  before = before.substr(from, before.size() - from - 1);
  after = after.substr(from, after.size() - from - 1);
  if (all_digits(before) && all_digits(after)) return number_of(after) == number_of(before) + 1;
  if (before.size() == 1 && after.size() == 1) {
    const bool letters = (lower(before[0]) && lower(after[0])) || (upper(before[0]) && upper(after[0]));
    if (letters && after[0] == before[0] + 1) return true;
  }
  return roman(before) && roman(after) && roman_value(after) == roman_value(before) + 1;
}

int section_depth(std::string_view word) {
  int parts = 0;
  const bool dot_at_end = word.ends_with('.');
  while (!word.empty()) {
    const auto dot = word.find('.');
    const std::string_view part = word.substr(0, dot);
    if (!all_digits(part) || part.size() > 3) return 0;
    ++parts;
    word = dot == std::string_view::npos ? std::string_view{} : word.substr(dot + 1);
  }
  return parts == 1 && !dot_at_end ? 0 : parts;
}

bool is_time(std::string_view text) {
  if (text.find_first_not_of("0123456789:./-") != std::string_view::npos) return false;
  const auto digits = static_cast<std::size_t>(
      std::ranges::count_if(text, [](unsigned char c) { return std::isdigit(c) != 0; }));
  const std::size_t marks = text.find_first_of(":./-") == std::string_view::npos ? 0 : text.size() - digits;
  return digits >= 3 && marks > 0 && marks <= 2 && std::isdigit(static_cast<unsigned char>(text.back())) != 0;
}

bool is_amount(std::string_view text) {
  constexpr std::size_t kAmountMax = 40;  // bytes
  if (text.size() > kAmountMax) return false;
  std::string plain(text);
  for (const std::string_view sign : {"€", "£", "¥", "–", "−", "\u00a0", "\u202f"}) {
    for (std::size_t at = 0; (at = plain.find(sign)) != std::string::npos;) plain.erase(at, sign.size());
  }
  return plain.find_first_of("0123456789") != std::string::npos &&
         plain.find_first_not_of("0123456789 .,:'()+-/%$") == std::string::npos;
}

bool is_page_number(std::string_view line) {
  std::string_view text = trimmed(line, " -–—|[]");
  for (const std::string_view word : {"Page ", "page ", "p. ", "PAGE "}) {
    if (text.starts_with(word)) text.remove_prefix(word.size());
  }
  for (const std::string_view between : {" of ", " / ", "/"}) {
    const auto at = text.find(between);
    if (at != std::string_view::npos && all_digits(text.substr(at + between.size())))
      text = text.substr(0, at);
  }
  return text.size() <= 4 && (all_digits(text) || roman(text));
}

bool ends_sentence(std::string_view text) {
  text = text.substr(0, text.find_last_not_of("\"')]") + 1);
  for (const std::string_view quote : {"”", "’", "»"}) {
    if (text.ends_with(quote)) text.remove_suffix(quote.size());
  }
  return !text.empty() && std::string_view(".!?:;").find(text.back()) != std::string_view::npos;
}

bool starts_lower(std::string_view text) { return lower_begin(text); }

bool starts_afresh(std::string_view text) {
  if (text.empty()) return false;
  if (text.front() >= 0) return upper(text.front()) || digit(text.front()) || text.front() == '`';
  const auto first = static_cast<unsigned char>(text.front());
  const unsigned second = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0;
  const bool greek = first == 0xCE && second < 0xAC;
  const bool cyrillic = first == 0xD0 && second < 0xB0;
  const bool extended = is_extended(first) && !lower_of_extended(first, second);
  return (first == 0xC3 && second < 0x9F) || extended || greek || cyrillic;
}

bool ends_hyphenated(std::string_view text) {
  const std::size_t length = hyphen_length(text);
  if (length == 0 || text.size() <= length) return false;
  const char before = text[text.size() - length - 1];
  return lower(before) || upper(before) || before < 0;
}

bool written_together(std::string_view before, std::string_view after) {
  return before.size() >= 3 && has_no_spaces(before, before.size() - 3) && has_no_spaces(after, 0);
}

namespace {

// After a hyphen, a conjunction shows that the word's end follows later: "light- and heavy-duty".
bool begins_with_conjunction(std::string_view line) {
  constexpr std::string_view kConjunctions[] = {"and", "or", "und", "oder"};
  return std::ranges::find(kConjunctions, line.substr(0, line.find(' '))) != std::end(kConjunctions);
}

}  // namespace

void join_line(std::string& paragraph, std::string_view line) {
  if (paragraph.empty()) {
    paragraph = line;
    return;
  }
  if (!ends_hyphenated(paragraph)) {
    if (!written_together(paragraph, line)) paragraph += ' ';
    paragraph += line;
    return;
  }
  const std::size_t length = hyphen_length(paragraph);
  if (length == 1 && begins_with_conjunction(line)) return void(paragraph.append(" ").append(line));
  const bool soft = length == 2;
  const std::string_view before = std::string_view(paragraph).substr(0, paragraph.size() - length);
  if (soft || (lower_end(before) && lower_begin(line))) paragraph.resize(before.size());
  paragraph += line;
}

bool has_letter_or_digit(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80 ? std::isalnum(byte) != 0 : byte > 0xC2 && byte != 0xE2;
  });
}

namespace {

// In letter heights.
constexpr float kSizeMin = 0.15F;
constexpr float kSizeMax = 0.5F;
constexpr float kGapMin = 0.3F;  // between the dot and the first word of the row
constexpr float kGapMax = 2.5F;

bool stands_before(const Box& mark, const Row& row) {
  const float letters = row.height;
  if (mark.height() < kSizeMin * letters || mark.height() > kSizeMax * letters) return false;
  const float gap = row.box.x0 - mark.x1;
  if (gap < kGapMin * letters || gap > kGapMax * letters) return false;
  // The middle of a bullet is between the middle of the row and the baseline.
  const float down = (mark.middle_y() - row.box.y0) / row.box.height();
  return down > 0.35F && down < 0.75F;
}

// Whether no other mark is to the left at this height. Otherwise the dot is in a picture or between columns.
bool alone(const Box& mark, const std::vector<Box>& marks, const Row& row) {
  return std::none_of(marks.begin(), marks.end(), [&](const Box& other) {
    const bool beside = other.middle_y() > row.box.y0 && other.middle_y() < row.box.y1;
    return beside && &other != &mark && other.x1 < row.box.x0 && other.x1 > mark.x0 - 3 * row.height;
  });
}

}  // namespace

void add_bullets(const std::vector<Box>& marks, std::vector<Word>& words) {
  Words all;
  for (const Word& word : words) all.push_back(&word);
  std::vector<Word> bullets;
  for (const Row& row : make_rows(std::move(all))) {
    const auto mark = std::find_if(marks.begin(), marks.end(), [&](const Box& each) {
      return stands_before(each, row) && alone(each, marks, row);
    });
    if (mark != marks.end())
      bullets.push_back({{mark->x0, row.box.y0, mark->x1, row.box.y1}, "•", false, false});
  }
  words.insert(words.end(), bullets.begin(), bullets.end());
}

namespace {

constexpr float kFreeBefore = 1;  // between a dot and what stands before it in its row, in letter heights
constexpr std::size_t kDotsMost = 1'000;  // of a page; more are a drawing
constexpr float kBulletsAlign = 0.2F;
constexpr float kDotsApart = 3;
constexpr float kItemStepMax = 5;  // from the margin of the text to that of an item

// Whether other dots are near at the same height: a leader, or a drawing.
bool stands_in_a_row(const Box& dot, const std::vector<Box>& dots, float letters) {
  return std::ranges::any_of(dots, [&](const Box& other) {
    return &other != &dot && std::abs(other.middle_y() - dot.middle_y()) < dot.height() &&
           std::abs(other.middle_x() - dot.middle_x()) < kDotsApart * letters;
  });
}

// The bullet that the dot is before a word of the row.
std::optional<Word> drawn_bullet(const Box& dot, const Row& row) {
  const float letters = row.height;
  const Word* next = nullptr;
  float free_from = -kFreeBefore * letters;
  for (const Word* word : row.words) {
    if (dot.middle_y() <= word->box.y0 || dot.middle_y() >= word->box.y1) continue;
    if (word->box.middle_x() > dot.middle_x()) {
      if (next == nullptr || word->box.x0 < next->box.x0) next = word;
    } else {
      free_from = std::max(free_from, word->box.x1);
    }
  }
  if (next == nullptr) return std::nullopt;
  if (dot.height() < kSizeMin * letters || dot.height() > kSizeMax * letters) return std::nullopt;
  const float gap = next->box.x0 - dot.x1;
  if (gap < kGapMin * letters || gap > kGapMax * letters) return std::nullopt;
  if (dot.x0 - free_from < kFreeBefore * letters || is_bullet(next->text)) return std::nullopt;
  return Word{{dot.x0, next->box.y0, dot.x1, next->box.y1}, "•", false, false};
}

}  // namespace

void add_drawn_bullets(const std::vector<Box>& dots, std::vector<Word>& words) {
  if (dots.size() < 2 || dots.size() > kDotsMost) return;
  Words all;
  for (const Word& word : words) all.push_back(&word);
  std::vector<Word> bullets;
  for (const Row& row : make_rows(std::move(all))) {
    for (const Box& dot : dots) {
      auto bullet = drawn_bullet(dot, row);
      if (bullet && !stands_in_a_row(dot, dots, row.height)) bullets.push_back(std::move(*bullet));
    }
  }
  for (const Word& bullet : bullets) {
    const float apart = kBulletsAlign * bullet.box.height();
    const auto above = [&](const Word& other) {
      return std::abs(other.box.y0 - bullet.box.y0) > apart && std::abs(other.box.x0 - bullet.box.x0) < apart;
    };
    if (std::ranges::any_of(bullets, above)) words.push_back(bullet);
  }
}

bool may_hold_items(const PageText& page) {
  const Word* line = nullptr;  // its first word
  const Word* before = nullptr;
  int set_in = 0;
  for (const Word& word : page.words) {
    if (before != nullptr && word.box.x0 > before->box.x0 && word.box.y0 < before->box.y1) {
      before = &word;
      continue;
    }
    const float letters = word.box.height();
    const float step = line == nullptr ? 0 : word.box.x0 - line->box.x0;
    const bool follows = line != nullptr && word.box.y0 > line->box.y0;
    if (follows && step > kFreeBefore * letters && step < kItemStepMax * letters) {
      set_in = 1;
    } else if (follows && set_in > 0 && std::abs(step) < kBulletsAlign * letters) {
      ++set_in;
    } else {
      set_in = 0;
    }
    if (set_in == 2) return true;
    line = before = &word;
  }
  return false;
}

}  // namespace millrace::engines
