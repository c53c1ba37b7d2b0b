#include "ai/engines/host/scan/comb_reader.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <leptonica/allheaders.h>
#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/host/scan/recognised_words.h"
#include "ai/engines/layout/number_shape.h"

namespace millrace::engines::host {
namespace {

constexpr float kEnlarged = 3;            // single characters are read better in large letters
constexpr float kRowOfCharacters = 1.4F;  // the height of a row, of that of its capitals

// Letters that look like digits are digits in a field of digits: "O7" is "07".
void mend_digits(std::string& text) {
  constexpr std::string_view kLetters = "OoIl|", kDigits = "00111";
  const auto like = std::ranges::count_if(text, [&](char c) { return kLetters.find(c) != kLetters.npos; });
  if (like == 0 || digits_in(text) + static_cast<std::size_t>(like) != text.size() ||
      2 * digits_in(text) < text.size())
    return;
  for (char& c : text) {
    const std::size_t at = kLetters.find(c);
    if (at != kLetters.npos) c = kDigits[at];
  }
}

}  // namespace

std::ptrdiff_t read_combs(tesseract::TessBaseAPI& api, const Prepared& page, const RunRecogniser& run,
                          PageText& text) {
  const auto scale = static_cast<float>(page.scale);
  std::ptrdiff_t read = 0;
  for (const Comb& comb : page.combs) {
    const Picture line(comb.line ? pixScale(comb.line.get(), kEnlarged, kEnlarged) : nullptr);
    if (!line) continue;
    api.SetImage(line.get());
    api.SetSourceResolution(kAssumedDpi);
    api.SetPageSegMode(tesseract::PSM_SINGLE_LINE);
    if (!run()) break;
    const auto at = first_word(api);
    if (!at) continue;
    Word whole{};
    do {
      if (at->Empty(tesseract::RIL_WORD)) continue;
      const auto word = word_at(*at, 1);
      if (!word) continue;
      if (!whole.text.empty()) whole.text += ' ';
      whole.text += word->text;
      whole.confidence = std::min(whole.confidence, word->confidence);
    } while (at->Next(tesseract::RIL_WORD));
    if (whole.text.empty()) continue;
    mend_digits(whole.text);
    const float half = kRowOfCharacters * comb.ink.height() / 2;
    whole.box = {comb.box.x0 / scale, (comb.ink.middle_y() - half) / scale, comb.box.x1 / scale,
                 (comb.ink.middle_y() + half) / scale};
    text.words.push_back(std::move(whole));
    ++read;
  }
  return read;
}

}  // namespace millrace::engines::host
