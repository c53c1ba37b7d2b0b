#include "ai/engines/host/scan/number_reader.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <utility>

#include <leptonica/allheaders.h>
#include <tesseract/baseapi.h>

#include "ai/engines/host/pictures/drawn_tables.h"
#include "ai/engines/host/scan/recognised_words.h"
#include "ai/engines/layout/misread_units.h"

namespace millrace::engines::host {
namespace {

constexpr float kNumberLetters = 24;      // pixels
constexpr int kWhiteAround = 12;          // pixels
constexpr std::size_t kNumbersMost = 40;  // of a page that are read again: some 0.2 s
constexpr std::size_t kDoubtsMost = 8;    // warnings of a page
constexpr std::string_view kDigitsAndMarks = "0123456789.,+-";
constexpr int kSureOfCharacters = 50;
constexpr std::size_t kBracketedDigits = 2;  // "(12.50)" is a negative amount; "(0)" is a 0 that is misread
constexpr float kBeside = 0.25F;             // letter heights on both sides of a cell
// Of the tallest component.
constexpr float kDigitHeight = 0.6F;
constexpr float kMarkHeight = 0.4F;
constexpr float kMarkPlace = 0.65F;  // a point is below this height of the digits
constexpr float kUnitApart = 0.3F;   // of the height of a digit: a wider gap before a unit is a space
constexpr float kBelowLine = 0.1F;   // a comma reaches below the digits
constexpr int kGlyphInk = 160;

// The components of one line from left to right.
struct Glyphs {
  std::vector<Box> digits;  // as tall as digits
  std::vector<NumberMark> marks;
};

Glyphs glyphs_in(Pix* gray) {
  Glyphs glyphs;
  const Picture ink(pixThresholdToBinary(gray, kGlyphInk));
  std::vector<Box> pieces = ink ? pieces_of(ink.get()) : std::vector<Box>();
  if (pieces.empty()) return glyphs;
  std::ranges::sort(pieces, {}, &Box::x0);
  const float tallest = std::ranges::max(pieces, {}, &Box::height).height();
  float bottom = 0, top = tallest;
  for (const Box& piece : pieces) {
    if (piece.height() < kDigitHeight * tallest) continue;
    top = glyphs.digits.empty() ? piece.y0 : std::min(top, piece.y0);
    bottom = std::max(bottom, piece.y1);
    glyphs.digits.push_back(piece);
  }
  std::size_t digits = 0;
  for (const Box& piece : pieces) {
    if (piece.height() >= kDigitHeight * tallest) {
      ++digits;
      continue;
    }
    const bool is_mark = std::max(piece.width(), piece.height()) < kMarkHeight * tallest &&
                         piece.middle_y() > top + kMarkPlace * (bottom - top) && piece.height() > 1;
    if (is_mark) glyphs.marks.push_back({digits, piece.y1 > bottom + kBelowLine * tallest ? ',' : '.'});
  }
  return glyphs;
}

Picture with_margin(const Picture& part) { return Picture(pixAddBorder(part.get(), kWhiteAround, 255)); }

std::string without_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
  return text;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

NumberReader::Line NumberReader::read_line(const Picture& picture, const std::string& characters) {
  const Picture wide = with_margin(picture);
  if (!wide || left_ == 0) return {};
  --left_;
  api_.SetVariable("tessedit_char_whitelist", characters.c_str());
  api_.SetPageSegMode(tesseract::PSM_SINGLE_LINE);
  api_.SetImage(wide.get());
  api_.SetSourceResolution(kAssumedDpi);
  Line line;
  if (run_()) {
    const std::unique_ptr<char[]> text(api_.GetUTF8Text());
    line = {text ? without_end(text.get()) : std::string(), api_.MeanTextConf()};
  }
  api_.SetVariable("tessedit_char_whitelist", "");
  return line;
}

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Whether `second` may be what `first` shows: it keeps the digits and the sign that are known. A letter that
// ends a number, as in "12b", may be one.
bool agrees(std::string_view first, std::string_view second) {
  constexpr std::string_view kSuffixes = "abcdefgh";
  const bool has_suffix = first.size() > 1 && kSuffixes.find(first.back()) != std::string_view::npos &&
                          is_digit(first[first.size() - 2]);
  if (has_suffix || first.starts_with('-') != second.starts_with('-')) return false;
  auto at = second.begin();
  for (const char c : first) {
    if (!is_digit(c)) continue;
    at = std::find(at, second.end(), c);
    if (at == second.end()) return false;
    ++at;
  }
  return true;
}

}  // namespace

// The first words take the text; the others are left empty.
void NumberReader::set_text(const std::vector<const Word*>& words, const std::string& text) {
  const auto parts = split_words(text);
  const bool each = parts.size() == words.size();
  for (std::size_t i = 0; i < words.size(); ++i)
    mutable_of(words[i]).text = each ? parts[i] : (i == 0 ? text : std::string());
}

PagePart NumberReader::part_of_cell(const Box& cell) const {
  const float margin = kBeside * cell.height();
  PagePart part = part_of(page_, {cell.x0 - margin, cell.y0, cell.x1 + margin, cell.y1}, kNumberLetters);
  if (part.gray) erase_rules(part.gray, part.letters);
  return part;
}

void NumberReader::check_cell(const ColumnCell& cell, const NumberShape& shape) {
  const std::string text = cell.text(), first = shape.spaced(text);
  if (first != text) set_text(cell.words, first);
  if (shape.fits(first) || !shape.may_be_misread(first)) return;
  if (left_ == 0) return add_doubt(first);
  const PagePart part = part_of_cell(cell.box);
  if (!part.gray) return add_doubt(first);
  const Glyphs glyphs = glyphs_in(part.gray.get());
  const auto marked = [&](const std::string& text) {
    const bool same = digits_in(text) + shape.unit().size() == glyphs.digits.size();
    std::string number = same ? with_marks(text, glyphs.marks) : text;
    if (glyphs.marks.empty() || glyphs.marks.back().digits < glyphs.digits.size()) {
      while (same && (number.ends_with('.') || number.ends_with(','))) number.pop_back();
    }
    return number;
  };
  const std::string kept = marked(first);
  if (shape.fits(kept)) return set_text(cell.words, kept);
  const std::string second = marked(read_number(part, glyphs.digits, shape, first));
  if (shape.fits(second) && agrees(first, second)) {
    set_text(cell.words, second);
  } else {
    if (kept != first) set_text(cell.words, kept);
    if (!shape.has_only_known(kept)) add_doubt(kept);
  }
}

// The last warning counts the doubts that get none of their own.
void NumberReader::report_doubts() {
  const auto warn = [this](std::string message) {
    text_->warnings.push_back({std::string(schemas::kPageWarningUnsure), std::move(message)});
  };
  const std::size_t own = doubts_.size() <= kDoubtsMost ? doubts_.size() : kDoubtsMost - 1;
  for (std::size_t i = 0; i < own; ++i)
    warn("\"" + doubts_[i] + "\" in a column of numbers may be misread: compare it with the page");
  if (own < doubts_.size())
    warn(std::to_string(doubts_.size() - own) +
         " more numbers of the page may be misread: compare its columns of numbers with the page");
}

// Reads the number without the unit of its column, which is added. Empty: it is not sure.
std::string NumberReader::read_number(const PagePart& part, const std::vector<Box>& digits,
                                      const NumberShape& shape, std::string_view first) {
  const std::size_t unit = shape.unit().size();
  if (unit >= digits.size()) return {};
  float end = static_cast<float>(width(part.gray));
  if (unit > 0) end = (digits[digits.size() - unit - 1].x1 + digits[digits.size() - unit].x0) / 2;
  const Picture number = clipped(part.gray.get(), {0, 0, end, static_cast<float>(height(part.gray))});
  if (!number) return {};
  const std::string characters = unit > 0 ? std::string(kDigitsAndMarks) : shape.characters();
  const Line line = read_line(number, characters);
  const bool sure = line.confidence >= kSureOfCharacters && digits_in(line.text) > 0;
  const bool bracketed = line.text.find_first_of("()") != std::string::npos;
  const bool in_brackets = has_whole_brackets(line.text) && digits_in(line.text) >= kBracketedDigits;
  if (sure && (!bracketed || in_brackets)) return shape.with_unit(line.text);
  if (first.starts_with('(') && digits_in(first) >= kBracketedDigits) return {};
  const std::string again = read_repeated(number, first);
  return again.empty() ? again : shape.with_unit(again);
}

// A recogniser is not sure of a digit that stands alone: reads the number several times in one line. Empty:
// the readings differ, or are not sure and unlike the first one.
std::string NumberReader::read_repeated(const Picture& number, std::string_view first) {
  constexpr int kTimes = 3;
  const int w = width(number), h = height(number), step = w + h / 2;
  const Picture line(pixCreate(kTimes * step, h, 8));
  if (!line) return {};
  pixSetAll(line.get());
  for (int i = 0; i < kTimes; ++i) pixRasterop(line.get(), i * step, 0, w, h, PIX_SRC, number.get(), 0, 0);
  const Line again = read_line(line, std::string(kDigitsAndMarks));
  std::string all = again.text;
  std::erase(all, ' ');
  const std::string one = all.substr(0, all.size() / kTimes);
  const bool same = all == one + one + one && digits_in(one) > 0;
  const bool sure = again.confidence >= kSureOfCharacters || is_misreading_of(first, one);
  return same && sure ? one : std::string();
}

namespace {

std::vector<std::string> texts_of(const NumberColumn& column) {
  std::vector<std::string> texts;
  texts.reserve(column.cells.size());
  for (const ColumnCell& cell : column.cells) texts.push_back(cell.text());
  return texts;
}

}  // namespace

// Puts a unit in place of the last digit of all numbers, if the picture shows one.
void NumberReader::mend_unit(const NumberColumn& column) {
  constexpr std::size_t kCellsMost = 100, kShownMin = 3;
  const char digit = common_last_digit(texts_of(column));
  if (digit == 0 || column.cells.size() > kCellsMost) return;
  std::vector<const ColumnCell*> with_unit, unknown;
  std::size_t numbers = 0, apart = 0, read_well = 0;
  for (const ColumnCell& cell : column.cells) {
    if (ends_in_unit_like(cell.text(), digit)) ++read_well;
    if (!ends_in_digit(cell.text(), digit)) continue;
    const PagePart part = part_of_cell(cell.box);
    const Glyphs glyphs = part.gray ? glyphs_in(part.gray.get()) : Glyphs{};
    const auto unit = ends_in_unit(cell.text(), glyphs.digits, glyphs.marks);
    if (!unit) {
      unknown.push_back(&cell);
    } else if (*unit) {
      with_unit.push_back(&cell);
      apart += is_apart(glyphs.digits) ? 1 : 0;
    } else {
      ++numbers;
    }
  }
  const std::size_t shown = with_unit.size() + read_well;
  if (with_unit.empty() || shown < kShownMin || shown < 2 * numbers) return;
  for (const ColumnCell* cell : with_unit)
    set_text(cell->words, with_last_as_unit(cell->text(), 2 * apart > with_unit.size()));
  for (const ColumnCell* cell : unknown) add_doubt(cell->text());
}

void NumberReader::check_column(const NumberColumn& column) {
  mend_unit(column);
  const std::vector<std::string> texts = texts_of(column);
  const NumberShape shape(texts);
  for (const ColumnCell& cell : column.cells) check_cell(cell, shape);
}

// A column that is misread throughout shows neither its unit nor the space before it; the picture does.
void NumberReader::check_misread(const ColumnCell& cell, NumberShape& shape) {
  const std::string first = cell.text();
  const std::string& unit = shape.unit();
  if (left_ == 0) return add_doubt(first);
  const PagePart part = part_of_cell(cell.box);
  if (!part.gray) return add_doubt(first);
  const Glyphs glyphs = glyphs_in(part.gray.get());
  if (glyphs.digits.size() <= unit.size()) return add_doubt(first);
  const std::size_t digits = glyphs.digits.size() - unit.size();
  if (!unit.empty()) {
    const Box& last = glyphs.digits[digits - 1];
    shape.set_unit(unit, glyphs.digits[digits].x0 - last.x1 > kUnitApart * last.height());
  }
  const std::string read = read_number(part, glyphs.digits, shape, first);
  const std::string second = digits_in(read) == digits ? with_marks(read, glyphs.marks) : read;
  const bool whole = digits_in(second) == digits;
  if (whole && agrees(first, second)) {
    set_text(cell.words, second);
  } else {
    add_doubt(first);
  }
}

void NumberReader::check_misread_column(const NumberColumn& column) {
  const std::vector<std::string> texts = texts_of(column);
  const std::string unit = unit_of_misread(texts);
  NumberShape shape(texts);
  shape.set_unit(unit, true);
  for (const ColumnCell& cell : column.cells) {
    if (!shape.fits(cell.text()) && is_misread_number(cell.text(), unit)) check_misread(cell, shape);
  }
}

// The digits are read without the letters before them.
void NumberReader::check_code(const Word& word, std::size_t prefix) {
  if (left_ == 0) return add_doubt(word.text);
  const PagePart part = part_of(page_, word.box, kNumberLetters);
  if (!part.gray) return;
  const Glyphs glyphs = glyphs_in(part.gray.get());
  const std::string_view head = std::string_view(word.text).substr(0, prefix);
  const std::size_t letters = prefix - static_cast<std::size_t>(std::ranges::count(head, '-'));
  if (letters == 0 || glyphs.digits.size() <= letters) return;
  const Box& from = glyphs.digits[letters];
  const float middle = (glyphs.digits[letters - 1].x1 + from.x0) / 2;
  const Picture digits = clipped(part.gray.get(), {middle, 0, static_cast<float>(width(part.gray)),
                                                   static_cast<float>(height(part.gray))});
  if (!digits) return;
  const Line again = read_line(digits, "0123456789");
  const bool whole =
      digits_in(again.text) == again.text.size() && again.text.size() == glyphs.digits.size() - letters;
  if (whole && again.confidence >= kSureOfCharacters)
    mutable_of(&word).text = word.text.substr(0, prefix) + again.text;
}

void NumberReader::check_codes(const TextColumn& column) {
  for (const bool last : {false, true}) {
    std::vector<const Word*> words;
    std::vector<std::string> texts;
    for (const Chunk* chunk : column) {
      words.push_back(last ? chunk->row.words.back() : chunk->row.words.front());
      texts.push_back(words.back()->text);
    }
    const std::size_t prefix = code_prefix(texts);
    for (const Word* word : words) {
      if (prefix > 0 && may_be_code(word->text, prefix)) check_code(*word, prefix);
    }
  }
}

// Words of small letters and digits in one line, such as p50 and p99 in a head.
void NumberReader::check_line(const TextLine& line) {
  for (const Chunk& chunk : line.chunks) {
    if (chunk.row.words.size() != 1) continue;
    const Word& word = *chunk.row.words.front();
    for (const Chunk& other : line.chunks) {
      const std::size_t prefix = misread_like(word.text, other.row.words.front()->text);
      if (prefix == 0) continue;
      check_code(word, prefix);
      break;
    }
  }
}

void NumberReader::check(PageText& text) {
  text_ = &text;
  left_ = kNumbersMost;
  doubts_.clear();
  Words all;
  for (const Word& word : text.words) all.push_back(&word);
  const float letters = body_letters(all);
  const std::vector<TextLine> lines = lines_of_page(text, letters);
  for (const TextLine& line : lines) check_line(line);
  for (const TextColumn& column : text_columns(lines, letters)) check_codes(column);
  const std::vector<NumberColumn> known = number_columns(lines, letters);
  const std::vector<NumberColumn> misread = misread_columns(lines, letters, known);
  for (const NumberColumn& column : known) check_column(column);
  for (const NumberColumn& column : misread) check_misread_column(column);
  report_doubts();
  std::erase_if(text.words, [](const Word& word) { return word.text.empty(); });
}

}  // namespace millrace::engines::host
