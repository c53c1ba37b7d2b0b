#include "ai/engines/layout/direction.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "ai/engines/layout/rows.h"

namespace millrace::engines {
namespace {

constexpr float kTall =
    1.4F;  // a word of three or more letters that is this much taller than wide is rotated
constexpr std::size_t kTallLetters = 3;
constexpr float kSameLine =
    0.5F;  // points: a rotated word whose sides are this close to those of a rotated line
constexpr float kSegmentGap = 1.5F;  // letter heights; a wider gap separates cells or columns

// The direction of a word or a letter.
enum class Run { kLeftwards, kRightwards, kNumber, kNeutral };

bool between(std::uint32_t code, std::uint32_t first, std::uint32_t last) {
  return code >= first && code <= last;
}

bool is_digit(std::uint32_t code) {
  return between(code, '0', '9') || between(code, 0x660, 0x669) || between(code, 0x6F0, 0x6F9);
}

// Combining marks belong to the letter before them.
bool is_mark(std::uint32_t code) {
  return between(code, 0x300, 0x36F) || between(code, 0x591, 0x5C7) || between(code, 0x64B, 0x65F) ||
         code == 0x670;
}

Run run_of(std::uint32_t code) {
  if (is_digit(code)) return Run::kNumber;
  if (between(code, 0x5BE, 0x8FF) || between(code, 0xFB1D, 0xFDFF) || between(code, 0xFE70, 0xFEFC))
    return Run::kLeftwards;
  const bool latin = between(code | 0x20U, 'a', 'z') && code < 0x80;
  const bool letter = latin || between(code, 0xC0, 0x52F) || between(code, 0x1E00, 0x1FFF);
  return letter ? Run::kRightwards : Run::kNeutral;
}

std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> codes;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    const unsigned more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    std::uint32_t code = more == 0 ? first : first & (0x3FU >> more);
    for (unsigned k = 0; k < more && i < text.size(); ++k) {
      code = (code << 6) | (static_cast<unsigned char>(text[i++]) & 0x3FU);
    }
    codes.push_back(code);
  }
  return codes;
}

// A letter with its marks, in bytes.
struct Letter {
  std::uint32_t code = 0;
  std::string bytes;
};

std::vector<Letter> letters_of(const std::string& word) {
  std::vector<Letter> letters;
  std::size_t begin = 0;
  for (const std::uint32_t code : code_points(word)) {
    if (begin >= word.size()) break;  // superfluous bytes of a letter are separate codes, but not letters
    std::size_t end = begin + 1;
    while (end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) ++end;
    const std::string bytes = word.substr(begin, end - begin);
    if (is_mark(code) && !letters.empty()) {
      letters.back().bytes += bytes;
    } else {
      letters.push_back({code, bytes});
    }
    begin = end;
  }
  return letters;
}

// In right-to-left text a bracket is displayed as its counterpart.
void mirror(Letter& letter) {
  constexpr std::array<std::string_view, 4> kPairs{"()", "[]", "{}", "<>"};
  for (const std::string_view pair : kPairs) {
    if (letter.bytes.size() != 1 || pair.find(letter.bytes[0]) == std::string_view::npos) continue;
    letter.bytes[0] = letter.bytes[0] == pair[0] ? pair[1] : pair[0];
    return;
  }
}

bool keeps_order(const Letter& letter) {
  const Run run = run_of(letter.code);
  return run == Run::kNumber || run == Run::kRightwards;
}

// Restores the order of numbers and Latin letters, with the signs between them: 3.50, a-b.
void put_back(std::vector<Letter>& letters) {
  for (auto from = letters.begin(); from != letters.end();) {
    from = std::find_if(from, letters.end(), keeps_order);
    auto end = from;
    for (auto at = from; at != letters.end() && run_of(at->code) != Run::kLeftwards; ++at) {
      if (keeps_order(*at)) end = at + 1;
    }
    std::reverse(from, end);
    if (from != letters.end()) from = end;
  }
}

// Right-to-left letters never begin with a smaller byte.
bool may_run_leftwards(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xD6; });
}

Run run_of(const Word& word) {
  if (word.leftwards) return Run::kLeftwards;
  Run best = Run::kNeutral;
  for (const std::uint32_t code : code_points(word.text)) {
    const Run run = run_of(code);
    if (run == Run::kRightwards) return run;
    if (run == Run::kNumber) best = run;
  }
  return best;
}

std::size_t letter_count(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool is_tall(const Word& word) {
  return word.box.height() > kTall * word.box.width() && letter_count(word.text) >= kTallLetters;
}

// Orientation of a line of two or more words.
Orientation turn_of_line(const Word& first, const Word& last) {
  const float x = last.box.middle_x() - first.box.middle_x();
  const float y = last.box.middle_y() - first.box.middle_y();
  if (std::abs(y) > std::abs(x)) return y > 0 ? Orientation::kDown : Orientation::kUp;
  return x < 0 && !first.leftwards && !last.leftwards ? Orientation::kOver : Orientation::kNone;
}

// A short word alone on its line is rotated when it is aligned with rotated words.
void mark_short_words(std::vector<Word>& words, const std::vector<std::size_t>& alone, Orientation turn) {
  std::vector<std::pair<float, float>> bands;
  for (const Word& word : words) {
    if (word.turn == turn) bands.emplace_back(word.box.x0, word.box.x1);
  }
  std::sort(bands.begin(), bands.end());
  for (const std::size_t i : alone) {
    const Box& box = words[i].box;
    const auto near = std::lower_bound(bands.begin(), bands.end(), std::pair(box.x0 - kSameLine, 0.0F));
    const bool same = near != bands.end() && std::abs(near->first - box.x0) < kSameLine &&
                      std::abs(near->second - box.x1) < kSameLine;
    if (same && words[i].turn == Orientation::kNone && letter_count(words[i].text) < kTallLetters)
      words[i].turn = turn;
  }
}

Box turned_upright(const Box& box, Orientation turn, float width, float height) {
  switch (turn) {
    case Orientation::kDown:
      return {box.y0, width - box.x1, box.y1, width - box.x0};
    case Orientation::kUp:
      return {height - box.y1, box.x0, height - box.y0, box.x1};
    case Orientation::kOver:
      return {width - box.x1, height - box.y1, width - box.x0, height - box.y0};
    case Orientation::kNone:
      break;
  }
  return box;
}

void mirror(Box& box, float from, float to) {
  const float x0 = box.x0;
  box.x0 = from + to - box.x1;
  box.x1 = from + to - x0;
}

// Mirrors words[first] … words[last], which reverses their order.
void mirror_run(PageText& page, const std::vector<const Word*>& words, std::size_t first, std::size_t last) {
  const float from = words[first]->box.x0;
  const float to = words[last]->box.x1;
  for (std::size_t i = first; i <= last; ++i) {
    mirror(page.words[static_cast<std::size_t>(words[i] - page.words.data())].box, from, to);
  }
}

// Mirrors the runs against the direction of a row. A run extends from its first word to the last one before a
// word of the row's direction or a wide gap. On a mirrored page, a number belongs to the Latin word before it
// (Windows 10).
void mirror_runs_against(PageText& page, const Row& row, Run own, Run against) {
  const auto& words = row.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::size_t start = i;
    while (own == Run::kLeftwards && i + 1 < words.size() && run_of(*words[i]) == Run::kNumber) ++i;
    if (run_of(*words[i]) != against) continue;
    std::size_t last = i;
    for (std::size_t k = i + 1; k < words.size() && run_of(*words[k]) != own; ++k) {
      if (words[k]->box.x0 - words[k - 1]->box.x1 > kSegmentGap * row.height) break;
      if (run_of(*words[k]) == against) last = k;
    }
    while (start < i && words[start + 1]->box.x0 - words[start]->box.x1 > kSegmentGap * row.height) ++start;
    if (last > start) mirror_run(page, words, start, last);
    i = last;
  }
}

void run_rightwards(PageText& page) {
  std::ptrdiff_t balance = 0;
  for (const Word& word : page.words) {
    const Run run = run_of(word);
    balance += run == Run::kLeftwards ? 1 : run == Run::kRightwards ? -1 : 0;
  }
  const bool mirrored = balance > 0;
  if (mirrored) {
    for (Word& word : page.words) mirror(word.box, 0, page.width);
  }
  const Run own = mirrored ? Run::kLeftwards : Run::kRightwards;
  const Run against = mirrored ? Run::kRightwards : Run::kLeftwards;
  Words words;
  for (const Word& word : page.words) words.push_back(&word);
  for (const Row& row : make_rows(std::move(words))) mirror_runs_against(page, row, own, against);
}

}  // namespace

bool set_in_reading_order(std::string& word) {
  if (!may_run_leftwards(word)) return false;
  std::vector<Letter> letters = letters_of(word);
  const bool leftwards = std::any_of(letters.begin(), letters.end(), [](const Letter& letter) {
    return run_of(letter.code) == Run::kLeftwards;
  });
  if (!leftwards) return false;
  std::reverse(letters.begin(), letters.end());
  for (Letter& letter : letters) mirror(letter);
  put_back(letters);
  word.clear();
  for (const Letter& letter : letters) word += letter.bytes;
  return true;
}

void mark_orientations(std::vector<Word>& words, const std::vector<std::size_t>& lines) {
  std::vector<std::size_t> alone;
  std::array<std::size_t, 4> seen{};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t end = i + 1 < lines.size() ? lines[i + 1] : words.size();
    if (end == lines[i] + 1) alone.push_back(lines[i]);
    if (end < lines[i] + 2) continue;
    const Orientation turn = turn_of_line(words[lines[i]], words[end - 1]);
    for (std::size_t k = lines[i]; k < end; ++k) words[k].turn = turn;
    seen[static_cast<std::size_t>(turn)] += end - lines[i];
  }
  // A single word does not show its orientation. The other lines decide; by default, rotated text runs
  // upwards.
  const auto count = [&seen](Orientation turn) { return seen[static_cast<std::size_t>(turn)]; };
  const Orientation sideways =
      count(Orientation::kDown) > count(Orientation::kUp) ? Orientation::kDown : Orientation::kUp;
  const bool over = count(Orientation::kOver) > count(Orientation::kNone);
  bool any_tall = count(Orientation::kDown) + count(Orientation::kUp) > 0;
  for (const std::size_t i : alone) {
    const bool tall = is_tall(words[i]);
    any_tall = any_tall || tall;
    words[i].turn = tall ? sideways : over ? Orientation::kOver : Orientation::kNone;
  }
  if (any_tall) mark_short_words(words, alone, sideways);
}

bool runs_plainly(const PageText& page) {
  return std::none_of(page.words.begin(), page.words.end(),
                      [](const Word& word) { return word.leftwards || word.turn != Orientation::kNone; });
}

std::vector<PageText> plain_pages(const PageText& page) {
  std::vector<PageText> pages;
  for (const Orientation turn :
       {Orientation::kNone, Orientation::kUp, Orientation::kDown, Orientation::kOver}) {
    const bool sideways = turn == Orientation::kUp || turn == Orientation::kDown;
    PageText part;
    part.index = page.index;
    part.width = sideways ? page.height : page.width;
    part.height = sideways ? page.width : page.height;
    part.recognised = page.recognised;
    for (const Word& word : page.words) {
      if (word.turn != turn) continue;
      part.words.push_back(word);
      part.words.back().turn = Orientation::kNone;
      part.words.back().box = turned_upright(word.box, turn, page.width, page.height);
    }
    if (part.words.empty()) continue;
    const bool leftwards =
        std::any_of(part.words.begin(), part.words.end(), [](const Word& word) { return word.leftwards; });
    if (leftwards) run_rightwards(part);
    pages.push_back(std::move(part));
  }
  return pages;
}

}  // namespace millrace::engines
