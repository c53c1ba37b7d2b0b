#include "ai/engines/host/scan/recognised_words.h"

#include <memory>
#include <string_view>

#include "ai/engines/layout/markers.h"

namespace millrace::engines::host {
namespace {

constexpr float kMarkConfidence =
    65;  // marks without a letter below this confidence are specks and rules, except bullets

bool is_noise(const tesseract::ResultIterator& at, std::string_view text) {
  if (text.find_first_not_of(" \t\n") == std::string_view::npos) return true;
  const bool first = at.IsAtBeginningOf(tesseract::RIL_TEXTLINE);
  return !first && !has_letter_or_digit(text) && at.Confidence(tesseract::RIL_WORD) < kMarkConfidence;
}

}  // namespace

Box box_of(const tesseract::PageIterator& at, tesseract::PageIteratorLevel level, double scale) {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  at.BoundingBox(level, &x0, &y0, &x1, &y1);
  const auto back = [scale](int value) { return static_cast<float>(value / scale); };
  return {back(x0), back(y0), back(x1), back(y1)};
}

std::optional<Word> word_at(const tesseract::ResultIterator& at, double scale) {
  const std::unique_ptr<char[]> text(at.GetUTF8Text(tesseract::RIL_WORD));
  if (!text || is_noise(at, text.get())) return std::nullopt;
  return Word{box_of(at, tesseract::RIL_WORD, scale), text.get()};
}

void use_row_height(const tesseract::ResultIterator& at, double scale, Box& box) {
  float row_height = 0;
  float descenders = 0;
  float ascenders = 0;
  at.RowAttributes(&row_height, &descenders, &ascenders);
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  if (row_height <= 0 || !at.Baseline(tesseract::RIL_WORD, &x0, &y0, &x1, &y1)) return;
  const auto baseline = static_cast<float>((y0 + y1) / 2.0 / scale);
  const auto down = static_cast<float>(-descenders / scale);
  box.y1 = baseline + down;
  box.y0 = box.y1 - static_cast<float>(row_height / scale);
}

}  // namespace millrace::engines::host
