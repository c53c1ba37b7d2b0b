#include "ai/engines/host/scan/sign_shapes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>

#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/page_part.h"
#include "ai/engines/layout/misread_units.h"
#include "schemas/json/json_text.h"

namespace millrace::engines::host {
namespace {

constexpr std::size_t kSignWordsMost = 300;  // of a page that are looked at
constexpr float kShapeLetters = 24;          // pixels
constexpr int kShapeInkBelow = 128;
// Of the height of the upper part of a sign.
constexpr float kBarHighMost = 0.35F, kBarApartMost = 0.5F;
constexpr float kBarLikeSign = 0.35F;  // the difference of their widths at most, of the wider one
constexpr float kUpperSquare = 1.8F;   // the longer side of the upper part, of the shorter one
constexpr float kHighEnough = 0.25F;   // of the word: lower pieces are specks

struct BarredSign {
  engines::Box box;
  std::string_view sign;
};

// The part of the middle rows of a piece that have ink at its left or its right edge.
bool has_tip(Pix* ink, const engines::Box& piece, bool left) {
  const float third = piece.height() / 3, edge = std::max(1.0F, piece.width() / 5);
  const engines::Box side{left ? piece.x0 : piece.x1 - edge, piece.y0, left ? piece.x0 + edge : piece.x1,
                          piece.y1};
  const auto inked = [&](float from, float to) {
    const Picture part = clipped(ink, {side.x0, from, side.x1, to});
    l_int32 none = 1;
    return part && pixZero(part.get(), &none) == 0 && none == 0;
  };
  return inked(piece.y0 + third, piece.y1 - third) && !inked(piece.y0, piece.y0 + third / 2) &&
         !inked(piece.y1 - third / 2, piece.y1);
}

// Empty: another sign.
std::string_view barred_sign(Pix* ink, const engines::Box& upper) {
  const bool left = has_tip(ink, upper, true), right = has_tip(ink, upper, false);
  if (left && right) return "±";
  if (left) return "≤";
  return right ? "≥" : std::string_view();
}

// The first sign above a bar in the ink of a word.
std::optional<BarredSign> sign_above_bar(Pix* ink) {
  const std::vector<engines::Box> pieces = pieces_of(ink);
  const float least = kHighEnough * static_cast<float>(pixGetHeight(ink));
  for (const engines::Box& upper : pieces) {
    if (upper.height() < least ||
        std::max(upper.width(), upper.height()) > kUpperSquare * std::min(upper.width(), upper.height()))
      continue;
    for (const engines::Box& bar : pieces) {
      const float apart = bar.y0 - upper.y1;
      const bool below = apart > -1 && apart < kBarApartMost * upper.height();
      const bool flat = bar.height() < kBarHighMost * upper.height() && bar.width() > 2 * bar.height();
      const bool alike =
          std::fabs(bar.width() - upper.width()) < kBarLikeSign * std::max(bar.width(), upper.width()) &&
          std::fabs(bar.middle_x() - upper.middle_x()) < upper.width() / 4;
      if (!below || !flat || !alike) continue;
      const std::string_view sign = barred_sign(ink, upper);
      if (!sign.empty()) return BarredSign{united(upper, bar), sign};
    }
  }
  return std::nullopt;
}

bool has_hole(Pix* ink, const engines::Box& piece) {
  const Picture part = clipped(ink, piece);
  const Picture wide(part ? pixAddBorder(part.get(), 1, 0) : nullptr);
  const Picture paper(wide ? pixInvert(nullptr, wide.get()) : nullptr);
  l_int32 count = 0;
  return paper && pixCountConnComp(paper.get(), 4, &count) == 0 && count > 1;
}

Picture ink_of_word(const Prepared& page, const Word& word) {
  const float more = word.box.height() / 8;
  const PagePart part = part_of(
      page, {word.box.x0 - 2, word.box.y0 - more, word.box.x1 + 2, word.box.y1 + more}, kShapeLetters);
  return Picture(part.gray ? pixConvertTo1(part.gray.get(), kShapeInkBelow) : nullptr);
}

bool may_hold_barred(std::string_view text) {
  constexpr std::string_view kRead = "+<>=", kAlone = "sSzZ25";
  if (text.size() == 1 && kAlone.find(text.front()) != text.npos) return true;
  if (text.find_first_of(kRead) != text.npos) return true;
  return text.starts_with('2') && text.size() <= 6;
}

// Replaces the character of a word that was read in the place of a sign.
void put_sign(const BarredSign& sign, float across, std::string& text) {
  constexpr std::string_view kRead = "+<>=2";
  if (text.size() == 1) {
    text = sign.sign;
    return;
  }
  const float place = sign.box.middle_x() / across * static_cast<float>(text.size());
  std::size_t best = text.npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto away = [&](std::size_t at) { return std::fabs(static_cast<float>(at) + 0.5F - place); };
    if (kRead.find(text[i]) != kRead.npos && away(i) < 1.5F && (best == text.npos || away(i) < away(best)))
      best = i;
  }
  if (best != text.npos) text.replace(best, 1, sign.sign);
}

void mend_barred(const Prepared& page, Word& word) {
  const Picture ink = ink_of_word(page, word);
  const auto sign = ink ? sign_above_bar(ink.get()) : std::nullopt;
  if (sign) put_sign(*sign, static_cast<float>(width(ink)), word.text);
}

// Whether the piece that is the tallest at one end of a word has no hole, as "µ" and "Ω".
bool is_open(const Prepared& page, const Word& word, bool first) {
  const Picture ink = ink_of_word(page, word);
  std::vector<engines::Box> pieces = ink ? pieces_of(ink.get()) : std::vector<engines::Box>();
  std::erase_if(pieces, [&](const auto& piece) {
    const auto across = static_cast<float>(width(ink)), down = static_cast<float>(height(ink));
    const bool cut = piece.x0 < 1 || piece.y0 < 1 || piece.x1 >= across || piece.y1 >= down;
    return cut || piece.height() < kHighEnough * down;
  });
  if (pieces.empty()) return false;
  const engines::Box piece = first ? *std::ranges::min_element(pieces, {}, &engines::Box::x0)
                                   : *std::ranges::max_element(pieces, {}, &engines::Box::x1);
  return !has_hole(ink.get(), piece);
}

// An amount of money would follow the sign.
void mend_halves(std::vector<Word>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto next = static_cast<unsigned char>(words[i + 1].text.c_str()[0]);
    if ((words[i].text == "¥" || words[i].text == "¥%") && std::isalpha(next) != 0) words[i].text = "½";
  }
}

}  // namespace

// Only the first letter of a word can be looked at: "5pm", "100pF" and "80pg/mL" stay.
bool is_micro(const Prepared& page, const Word& word) {
  if (!starts_with_digit(word.text)) return is_open(page, word, true);
  const std::size_t unit = word.text.find_first_not_of("0123456789.,");
  return unit != std::string::npos && word.text[unit] != 'p' && is_open(page, word, false);
}

void mend_signs(const Prepared& page, PageText& text) {
  std::size_t left = kSignWordsMost;
  for (Word& word : text.words) {
    if (word.figure || word.leftwards) continue;
    const bool micro = may_be_micro(word.text), ohm = may_be_ohm(word.text);
    if (left > 0 && (micro || ohm || may_hold_barred(word.text))) {
      --left;
      if (micro && is_micro(page, word)) {
        word.text = with_micro(word.text);
      } else if (ohm && is_open(page, word, false)) {
        word.text = with_ohm(word.text);
      } else if (!micro && !ohm) {
        mend_barred(page, word);
      }
    }
    word.text = with_powers_of_ten(word.text);
  }
  mend_halves(text.words);
}

}  // namespace millrace::engines::host
