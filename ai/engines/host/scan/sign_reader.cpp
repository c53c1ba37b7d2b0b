#include "ai/engines/host/scan/sign_reader.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <leptonica/allheaders.h>
#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/host/scan/recognised_words.h"
#include "ai/engines/layout/markers.h"
#include "schemas/json/json_text.h"

namespace millrace::engines::host {
namespace {

constexpr std::size_t kSignCharacters = 3;
// Confidence. A single stroke that ticks a box is read as some digits and letters, too.
constexpr float kSureOfSign = 70, kSureOfLikeTick = 92, kSureOfSeveral = 88;
// Of a letter whose size alone shows its case; read in both cases, and in one.
constexpr float kSureOfBothCases = 30, kSureOfEitherCase = 50;
constexpr float kSignLetters = 32;  // pixels: a single letter is read better in large letters
constexpr int kSignMargin = 10;     // pixels: and so close to it
constexpr int kSignInk = 160;
constexpr float kRowOfCapital = 1.4F;  // the height of a row, of that of a capital

bool stands_in(const Word& word, const Box& box) {
  return !word.figure && word.box.middle_x() > box.x0 && word.box.middle_x() < box.x1 &&
         word.box.middle_y() > box.y0 && word.box.middle_y() < box.y1;
}

// Whether a text is one letter, read in both cases because nothing shows its size: "Cc".
bool is_one_letter(std::string_view text) {
  const auto small = [](unsigned char c) { return std::tolower(c); };
  return text.size() > 1 && std::ranges::all_of(text, [&](unsigned char c) {
           return std::isalpha(c) != 0 && small(c) == small(static_cast<unsigned char>(text[0]));
         });
}

// What a box holds, if it is read well enough: letters or a number. Empty: it may be a tick.
std::string sign_of(std::string text, float confidence) {
  constexpr std::string_view kTicks = "VvXx", kLikeTicks = "147", kAboutLikeTicks = "YyJjeo";
  constexpr std::string_view kAlikeInBothCases = "CcSsZz";
  if (text == "|") text = "I";  // so it is read where it stands alone
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; };
  if (!has_letter_or_digit(text) || !std::ranges::all_of(text, is_plain)) return {};
  if (schemas::characters(text) > kSignCharacters || text == "×") return {};
  if (kTicks.find(text[0]) != std::string_view::npos) return {};
  const bool about_like = kAboutLikeTicks.find(text[0]) != std::string_view::npos;
  if (is_one_letter(text)) {
    if (about_like || confidence < kSureOfBothCases) return {};
    return {static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])))};
  }
  float sure = text.size() > 1 || about_like ? kSureOfSeveral : kSureOfSign;
  if (text.size() == 1 && kAlikeInBothCases.find(text[0]) != std::string_view::npos) sure = kSureOfEitherCase;
  if (text.size() == 1 && kLikeTicks.find(text[0]) != std::string_view::npos) sure = kSureOfLikeTick;
  return confidence >= sure ? text : std::string();
}

// The ink of a picture with little white around it.
Picture sign_alone(const Picture& gray) {
  const Picture ink(pixConvertTo1(gray.get(), kSignInk));
  ::Box* place = nullptr;
  if (ink) pixClipToForeground(ink.get(), nullptr, &place);
  const Picture part(place == nullptr ? nullptr : pixClipRectangle(gray.get(), place, nullptr));
  boxDestroy(&place);
  return Picture(part ? pixAddBorder(part.get(), kSignMargin, 255) : nullptr);
}

}  // namespace

void read_signs(tesseract::TessBaseAPI& api, const Prepared& page, const RunRecogniser& run, PageText& text) {
  for (const Box& box : page.with_signs) {
    const auto inside = [&box](const Word& word) { return stands_in(word, box); };
    const auto is_box = [&box](const CheckBox& each) {
      return each.box.x0 == box.x0 && each.box.y0 == box.y0;
    };
    if (std::ranges::any_of(page.check_boxes, is_box)) {
      std::erase_if(text.words, inside);  // of a second look at a table: they may be a tick
    } else if (std::ranges::any_of(text.words, inside)) {
      continue;
    }
    const PagePart part = part_of(page, box, kSignLetters);
    const Picture sign = part.gray ? sign_alone(part.gray) : Picture();
    if (!sign) continue;
    api.SetImage(sign.get());
    api.SetSourceResolution(kAssumedDpi);
    api.SetPageSegMode(tesseract::PSM_SINGLE_LINE);
    if (!run()) return;
    const auto at = first_word(api);
    if (!at || at->Empty(tesseract::RIL_WORD)) continue;
    auto word = word_at(*at, part.scale);
    if (word) word->text = sign_of(std::move(word->text), word->confidence);
    if (!word || word->text.empty()) continue;
    const float capital = static_cast<float>((height(sign) - 2 * kSignMargin) / part.scale);
    const float half = std::min(kRowOfCapital * capital, box.height()) / 2;
    word->box = {box.x0, box.middle_y() - half, box.x1, box.middle_y() + half};
    text.words.push_back(*std::move(word));
  }
}

}  // namespace millrace::engines::host
