#include "ai/engines/host/scan/recognised_words.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/rows.h"

namespace millrace::engines::host {
namespace {

constexpr float kMarkConfidence =
    65;  // marks without a letter below this confidence are specks and rules, except bullets

bool is_noise(const tesseract::LTRResultIterator& at, std::string_view text) {
  if (text.find_first_not_of(" \t\n") == std::string_view::npos) return true;
  const bool first = at.IsAtBeginningOf(tesseract::RIL_TEXTLINE);
  return !first && !has_letter_or_digit(text) && at.Confidence(tesseract::RIL_WORD) < kMarkConfidence;
}

bool has_leftward_word(tesseract::LTRResultIterator at) {
  do {
    if (!at.Empty(tesseract::RIL_WORD) && at.WordDirection() == tesseract::DIR_RIGHT_TO_LEFT) return true;
  } while (at.Next(tesseract::RIL_WORD));
  return false;
}

}  // namespace

std::unique_ptr<tesseract::LTRResultIterator> first_word(tesseract::TessBaseAPI& api) {
  std::unique_ptr<tesseract::ResultIterator> ordered(api.GetIterator());
  if (!ordered) return nullptr;
  auto plain = std::make_unique<tesseract::LTRResultIterator>(*ordered);
  plain->Begin();
  if (has_leftward_word(*plain)) return ordered;
  return plain;
}

std::unique_ptr<tesseract::LTRResultIterator> copy_of(const tesseract::LTRResultIterator& at) {
  const auto* ordered = dynamic_cast<const tesseract::ResultIterator*>(&at);
  if (ordered != nullptr) return std::make_unique<tesseract::ResultIterator>(*ordered);
  return std::make_unique<tesseract::LTRResultIterator>(at);
}

std::string text_at(const tesseract::LTRResultIterator& at, tesseract::PageIteratorLevel level) {
  const auto* ordered = dynamic_cast<const tesseract::ResultIterator*>(&at);  // GetUTF8Text is not virtual
  const std::unique_ptr<char[]> text(ordered != nullptr ? ordered->GetUTF8Text(level)
                                                        : at.GetUTF8Text(level));
  return text ? text.get() : std::string();
}

Box box_of(const tesseract::PageIterator& at, tesseract::PageIteratorLevel level, double scale) {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  at.BoundingBox(level, &x0, &y0, &x1, &y1);
  const auto back = [scale](int value) { return static_cast<float>(value / scale); };
  return {back(x0), back(y0), back(x1), back(y1)};
}

std::optional<Word> word_at(const tesseract::LTRResultIterator& at, double scale) {
  std::string text = text_at(at, tesseract::RIL_WORD);
  if (is_noise(at, text)) return std::nullopt;
  Word word{box_of(at, tesseract::RIL_WORD, scale), std::move(text)};
  word.confidence = at.Confidence(tesseract::RIL_WORD);
  return word;
}

void use_capital_height(const tesseract::LTRResultIterator& at, Word& word) {
  constexpr std::string_view kAlike = "cosuvwxz";  // capitals differ in their size only
  constexpr float kAsTall = 0.9F;
  if (word.text.size() < 2 || kAlike.find(word.text.front()) == std::string_view::npos) return;
  const std::string_view rest = std::string_view(word.text).substr(1);
  if (!std::ranges::all_of(rest, [](unsigned char c) { return std::isupper(c) != 0; })) return;
  const auto symbol = copy_of(at);
  const float first = box_of(*symbol, tesseract::RIL_SYMBOL, 1).height();
  float tall = 0;
  while (!symbol->IsAtFinalElement(tesseract::RIL_WORD, tesseract::RIL_SYMBOL) &&
         symbol->Next(tesseract::RIL_SYMBOL)) {
    tall = std::max(tall, box_of(*symbol, tesseract::RIL_SYMBOL, 1).height());
  }
  if (tall > 0 && first >= kAsTall * tall)
    word.text.front() = static_cast<char>(std::toupper(word.text.front()));
}

namespace {

constexpr float kTooHigh = 1.15F;

bool has_tall_letter(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) {
    return std::isupper(c) != 0 || std::isdigit(c) != 0 ||
           std::string_view("bdfhkl").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// By how much the height of a line must shrink. In a line with many capitals or digits, the recogniser takes
// their height for that of small letters; but no ink of the line reaches as high as its tall letters then
// would. `ascenders`: above the baseline, in pixels of the picture.
float height_correction(const tesseract::LTRResultIterator& at, float baseline, float ascenders) {
  const float ink = baseline - box_of(at, tesseract::RIL_TEXTLINE, 1).y0;
  if (ink <= 0 || ascenders <= kTooHigh * ink || !has_tall_letter(text_at(at, tesseract::RIL_TEXTLINE)))
    return 1;
  return ink / ascenders;
}

}  // namespace

void use_row_height(const tesseract::LTRResultIterator& at, double scale, Box& box) {
  float row_height = 0;
  float descenders = 0;
  float ascenders = 0;
  at.RowAttributes(&row_height, &descenders, &ascenders);
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  if (row_height <= 0 || !at.Baseline(tesseract::RIL_WORD, &x0, &y0, &x1, &y1)) return;
  const float middle = static_cast<float>(y0 + y1) / 2;
  const double fit = height_correction(at, middle, row_height + descenders) / scale;
  box.y1 = static_cast<float>(middle / scale - descenders * fit);
  box.y0 = box.y1 - static_cast<float>(row_height * fit);
}

void even_out_heights(std::vector<Word>& words) {
  constexpr float kSameSize = 0.15F;
  constexpr float kBelowBaseline = 0.22F;  // of the height of letters
  Words all;
  for (const Word& word : words) all.push_back(&word);
  const float body = body_letters(all);
  for (Word& word : words) {
    const float more = body - word.box.height();
    if (word.figure || std::abs(more) > kSameSize * body) continue;
    word.box.y1 += kBelowBaseline * more;
    word.box.y0 = word.box.y1 - body;
  }
}

}  // namespace millrace::engines::host
