#include "ai/engines/layout/direction.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "ai/engines/layout/code_points.h"
#include "ai/engines/layout/letter_forms.h"
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

bool is_lam(std::uint32_t code) { return code == 0x644; }
bool is_alef(std::uint32_t code) { return code == 0x627 || code == 0x622 || code == 0x623 || code == 0x625; }

// The letters of a presentation form, with the marks behind it.
std::string plain_letters(const Letter& letter) {
  const std::string_view plain = letters_of_form(letter.code);
  if (plain.empty()) return letter.bytes;
  constexpr std::size_t kBytesOfForm = 3;
  return std::string(plain) + letter.bytes.substr(std::min(kBytesOfForm, letter.bytes.size()));
}

// Where all other letters are presentation forms, which are in the order of the page, a lam and an alef are
// the letters of one ligature, in reading order.
void turn_expansions(std::vector<Letter>& letters) {
  std::size_t forms = 0;
  for (const Letter& letter : letters) {
    const bool form = !letters_of_form(letter.code).empty();
    const bool of_ligature = is_lam(letter.code) || is_alef(letter.code);
    if (!form && !of_ligature && run_of(letter.code) == Run::kLeftwards) return;
    forms += form ? 1 : 0;
  }
  for (std::size_t i = 1; forms > 0 && i < letters.size(); ++i) {
    if (is_lam(letters[i - 1].code) && is_alef(letters[i].code)) std::swap(letters[i - 1], letters[i]);
  }
}

bool has_lam_alef(std::string_view text) {
  const auto codes = code_points(text);
  const auto both = [](std::uint32_t one, std::uint32_t next) { return is_lam(one) && is_alef(next); };
  return std::adjacent_find(codes.begin(), codes.end(), both) != codes.end();
}

// The word "la" from back to front: an article without its word, which does not exist.
bool is_turned_la(std::string_view text) {
  const auto codes = code_points(text);
  return codes.size() == 2 && is_alef(codes[0]) && is_lam(codes[1]);
}

// Turns each alef with a lam behind it, but not those that may be an article, at the head of a word or behind
// a prefix of one letter.
void turn_alef_lam(std::string& text) {
  std::vector<Letter> letters = letters_of(text);
  const auto is_prefix = [](std::uint32_t code) {  // wa, fa, bi, ka
    return code == 0x648 || code == 0x641 || code == 0x628 || code == 0x643;
  };
  const bool alone = letters.size() == 2;
  for (std::size_t i = 0; i + 1 < letters.size(); ++i) {
    const bool article = !alone && (i == 0 || (i == 1 && is_prefix(letters[0].code)));
    if (article || !is_alef(letters[i].code) || !is_lam(letters[i + 1].code)) continue;
    std::swap(letters[i], letters[i + 1]);
    ++i;
  }
  text.clear();
  for (const Letter& letter : letters) text += letter.bytes;
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

// A short word alone on its line is rotated when it is aligned with rotated words. Where most text is
// rotated, it is when its width is more like the height of their letters than its height. `mostly`: most text
// is.
void mark_short_words(std::vector<Word>& words, const std::vector<std::size_t>& alone, Orientation turn,
                      bool mostly) {
  std::vector<std::pair<float, float>> bands;
  std::vector<float> heights;
  for (const Word& word : words) {
    if (word.turn != turn) continue;
    bands.emplace_back(word.box.x0, word.box.x1);
    heights.push_back(word.box.width());
  }
  const float letters = heights.empty() ? 0 : median(std::move(heights));
  std::sort(bands.begin(), bands.end());
  for (const std::size_t i : alone) {
    const Box& box = words[i].box;
    const auto near = std::lower_bound(bands.begin(), bands.end(), std::pair(box.x0 - kSameLine, 0.0F));
    const bool same = near != bands.end() && std::abs(near->first - box.x0) < kSameLine &&
                      std::abs(near->second - box.x1) < kSameLine;
    const bool is_short = letter_count(words[i].text) < kTallLetters || box.height() > box.width();
    const bool is_like =
        mostly && is_short && std::abs(box.width() - letters) < std::abs(box.height() - letters);
    if ((same || is_like) && words[i].turn == Orientation::kNone && is_short) words[i].turn = turn;
  }
}

// Clockwise, to make a word upright.
int quarter_turns_of(Orientation turn) {
  constexpr std::array<int, 4> kTurns{0, 1, 3, 2};  // upright, upwards, downwards, upside down
  return kTurns[static_cast<std::size_t>(turn)];
}

Orientation orientation_of(int quarter_turns) {
  constexpr std::array<Orientation, 4> kOrientations{Orientation::kNone, Orientation::kUp, Orientation::kOver,
                                                     Orientation::kDown};
  return kOrientations[static_cast<std::size_t>(quarter_turns)];
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
  turn_expansions(letters);
  std::reverse(letters.begin(), letters.end());
  for (Letter& letter : letters) mirror(letter);
  put_back(letters);
  word.clear();
  for (const Letter& letter : letters) word += plain_letters(letter);
  return true;
}

void mend_lam_alef(std::vector<Word>& words) {
  std::size_t turned = 0;
  for (const Word& word : words) {
    if (!word.leftwards) continue;
    if (has_lam_alef(word.text)) return;
    if (is_turned_la(word.text)) ++turned;
  }
  if (turned == 0) return;
  for (Word& word : words) {
    if (word.leftwards) turn_alef_lam(word.text);
  }
}

namespace {

// Chinese and Japanese set from top to bottom, letter by letter.

constexpr float kLettersPart = 0.6F;   // of the words are single letters
constexpr std::size_t kColumnMin = 4;  // letters
constexpr float kNextLetter = 0.6F;    // between letters of a column, of their height
constexpr float kCloserBelow = 0.6F;   // of the distance to the letter on the right
constexpr float kSameColumn = 0.3F;    // between the middles, of the width

bool is_cjk(std::uint32_t code) {
  return between(code, 0x3000, 0x30FF) || between(code, 0x3400, 0x9FFF) || between(code, 0xF900, 0xFAFF) ||
         between(code, 0xFE30, 0xFE4F) || between(code, 0xFF01, 0xFF9F);
}

bool is_cjk_text(const Word& word) {
  const auto codes = code_points(word.text);
  return !word.figure && !codes.empty() && std::all_of(codes.begin(), codes.end(), is_cjk);
}

// From each letter to the next one in its column or, for `across`, in its row.
std::vector<float> gaps_of(std::vector<Box> boxes, bool across) {
  const auto swapped = [](const Box& box) { return Box{box.y0, box.x0, box.y1, box.x1}; };
  if (across) std::transform(boxes.begin(), boxes.end(), boxes.begin(), swapped);
  std::sort(boxes.begin(), boxes.end(),
            [](const Box& a, const Box& b) { return a.middle_x() < b.middle_x(); });
  std::vector<float> gaps;
  for (auto first = boxes.begin(), end = first; first != boxes.end(); first = end) {
    ++end;  // a box may have no width
    while (end != boxes.end() && end->middle_x() - first->middle_x() < kSameColumn * first->width()) ++end;
    std::sort(first, end, [](const Box& a, const Box& b) { return a.y0 < b.y0; });
    for (auto at = first + 1; at < end; ++at) gaps.push_back(at->y0 - at[-1].y1);
  }
  return gaps;
}

// Whether single letters follow each other below, and not beside each other.
bool runs_down(const std::vector<Box>& letters) {
  std::vector<float> down = gaps_of(letters, false), right = gaps_of(letters, true);
  if (down.size() < kColumnMin) return false;
  const float size = letters.front().height();
  const float below = median(std::move(down)), beside = right.empty() ? size : median(std::move(right));
  return below < kNextLetter * size && std::max(below, 0.0F) < kCloserBelow * beside;
}

void mark_columns(std::vector<Word>& words) {
  std::vector<Box> letters;
  std::size_t texts = 0;
  for (const Word& word : words) {
    texts += word.figure ? 0 : 1;
    if (letter_count(word.text) == 1 && is_cjk_text(word)) letters.push_back(word.box);
  }
  if (static_cast<float>(letters.size()) < kLettersPart * static_cast<float>(texts) || !runs_down(letters))
    return;
  // A digit or two among the letters of a column stand upright.
  const auto in_column = [&letters](const Box& box) {
    return std::any_of(letters.begin(), letters.end(), [&box](const Box& letter) {
      const float apart = std::max(box.y0 - letter.y1, letter.y0 - box.y1);
      return std::abs(box.middle_x() - letter.middle_x()) < kSameColumn * letter.width() &&
             apart < kNextLetter * letter.height();
    });
  };
  constexpr std::size_t kDigits = 2;
  for (Word& word : words) {
    const std::size_t count = letter_count(word.text);
    if (word.figure || (count > 1 && is_cjk_text(word)) || count > kDigits) continue;
    if (in_column(word.box)) word.turn = Orientation::kDown;
  }
}

}  // namespace

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
    if (tall && is_cjk_text(words[i])) {
      words[i].turn = Orientation::kDown;
      continue;
    }
    any_tall = any_tall || tall;
    words[i].turn = tall ? sideways : over ? Orientation::kOver : Orientation::kNone;
  }
  const bool mostly = count(sideways) > 2 * (count(Orientation::kNone) + count(Orientation::kOver));
  if (any_tall) mark_short_words(words, alone, sideways, mostly);
  mark_columns(words);
}

int turns_to_upright(const std::vector<Word>& words) {
  std::array<std::size_t, 4> counts{};
  for (const Word& word : words)
    counts[static_cast<std::size_t>(quarter_turns_of(word.turn))] += word.figure ? 0 : 1;
  const std::size_t all = counts[0] + counts[1] + counts[2] + counts[3];
  const auto most = std::max_element(counts.begin(), counts.end());
  return 2 * *most > all ? static_cast<int>(most - counts.begin()) : 0;
}

Box quarter_turned(const Box& box, float height) {
  return {height - box.y1, box.x0, height - box.y0, box.x1};
}

void turn_page(PageText& page, int quarter_turns) {
  for (int turn = 0; turn < quarter_turns; ++turn) {
    for (Word& word : page.words) word.box = quarter_turned(word.box, page.height);
    std::swap(page.width, page.height);
  }
  page.quarter_turns = (page.quarter_turns + quarter_turns) % 4;
  for (Word& word : page.words) {
    if (!word.figure) word.turn = orientation_of((quarter_turns_of(word.turn) - quarter_turns + 4) % 4);
  }
}

bool runs_plainly(const PageText& page) {
  return std::none_of(page.words.begin(), page.words.end(),
                      [](const Word& word) { return word.leftwards || word.turn != Orientation::kNone; });
}

std::vector<PageText> plain_pages(const PageText& page) {
  std::vector<PageText> pages;
  for (const Orientation seen :
       {Orientation::kNone, Orientation::kUp, Orientation::kDown, Orientation::kOver}) {
    const Orientation turn = orientation_of((quarter_turns_of(seen) - page.quarter_turns + 4) % 4);
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
