#include "ai/engines/host/pictures/pale_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

// Of the brightness of the paper.
constexpr float kFaintMost = 0.88F;  // brighter pixels are paper
constexpr float kPaleMin = 0.5F;     // what has a darker pixel is read as it is
constexpr float kPaleWhite = 0.93F;
constexpr float kPaleCoreMost = 0.84F;  // of most of the ink of a line; scraps of a watermark are brighter
// In letter heights.
constexpr float kPaleLowest = 0.4F, kPaleHighest = 3, kPaleThinnest = 0.1F, kPaleWidest = 12;
constexpr float kNextPale = 1.5F;  // between two letters of a line
constexpr float kPaleBandWide = 6, kPaleBandLow = 1.3F, kPaleBandHigh = 5;
constexpr float kPaleBandInk = 0.55F, kPaleBandMost = 0.97F;
constexpr std::size_t kPalePiecesMost = 20'000;  // more are a texture
constexpr std::size_t kPaleLettersMin = 3;
constexpr float kPaleLongMin = 2.5F;  // a line of text, of its height
constexpr float kPaleInkMost = 0.6F;  // at most, of the box of a line of letters
constexpr float kPaleCore = 0.2F;     // the part of the ink that is at least as dark as it is meant to be

struct PaleLine {
  engines::Box box;
  std::size_t letters = 1;
};

bool share_pale_rows(const engines::Box& line, const engines::Box& letter) {
  const float common = std::min(line.y1, letter.y1) - std::max(line.y0, letter.y0);
  return 2 * common > std::min(line.height(), letter.height());
}

std::vector<PaleLine> pale_lines(std::vector<engines::Box> letters) {
  std::ranges::sort(letters, {}, &engines::Box::x0);
  std::vector<PaleLine> lines;
  for (const engines::Box& letter : letters) {
    const auto home = std::ranges::find_if(lines, [&](const PaleLine& line) {
      return share_pale_rows(line.box, letter) &&
             letter.x0 - line.box.x1 < kNextPale * std::max(letter.height(), line.box.height());
    });
    if (home == lines.end()) {
      lines.push_back({letter});
    } else {
      home->box = united(home->box, letter);
      ++home->letters;
    }
  }
  return lines;
}

// The ink that is connected with no dark pixel.
Picture pale_ink(Pix* gray, float paper) {
  const Picture faint(pixThresholdToBinary(gray, static_cast<int>(kFaintMost * paper)));
  const Picture dark(pixThresholdToBinary(gray, static_cast<int>(kPaleMin * paper)));
  const Picture whole(faint && dark ? pixSeedfillBinary(nullptr, dark.get(), faint.get(), 8) : nullptr);
  return Picture(whole ? pixSubtract(nullptr, faint.get(), whole.get()) : nullptr);
}

float pale_part(const Picture& ink, const engines::Box& box) {
  const Picture part = clipped(ink.get(), box);
  l_float32 inked = 0;
  return part && pixForegroundFraction(part.get(), &inked) == 0 ? inked : 0;
}

class PaleDarkener {
 public:
  PaleDarkener(Picture& gray, const Picture& ink, int paper)
      : gray_(gray), around_(pixDilateBrick(nullptr, ink.get(), 3, 3)), paper_(static_cast<float>(paper)) {}

  // False: its ink is too bright.
  bool darken(const engines::Box& box) {
    if (!around_ || !(copied_ || copy())) return false;
    const int x0 = std::max(pixel_at(box.x0) - 1, 0), x1 = std::min(pixel_at(box.x1) + 1, width(gray_));
    const int y0 = std::max(pixel_at(box.y0) - 1, 0), y1 = std::min(pixel_at(box.y1) + 1, height(gray_));
    const int ink = level_of_ink(x0, y0, x1, y1);
    if (static_cast<float>(ink) > kPaleCoreMost * paper_) return false;
    const float range = std::max(kPaleWhite * paper_ - static_cast<float>(ink), 1.0F);
    each_pixel(x0, y0, x1, y1, [&](l_uint32* line, int x, int value) {
      const float level = std::clamp(static_cast<float>(value - ink) / range, 0.0F, 1.0F) * paper_;
      SET_DATA_BYTE(line, x, static_cast<l_uint8>(std::min(static_cast<int>(level), value)));
    });
    return true;
  }

 private:
  bool copy() {
    Picture own(pixCopy(nullptr, gray_.get()));
    copied_ = own != nullptr;
    if (copied_) gray_ = std::move(own);
    return copied_;
  }
  template <typename Use>
  void each_pixel(int x0, int y0, int x1, int y1, const Use& use) const {
    const int words = pixGetWpl(gray_.get()), mask_words = pixGetWpl(around_.get());
    for (int y = y0; y < y1; ++y) {
      l_uint32* line = pixGetData(gray_.get()) + std::ptrdiff_t{y} * words;
      const l_uint32* mask = pixGetData(around_.get()) + std::ptrdiff_t{y} * mask_words;
      for (int x = x0; x < x1; ++x) {
        if (GET_DATA_BIT(mask, x) != 0) use(line, x, static_cast<int>(GET_DATA_BYTE(line, x)));
      }
    }
  }
  int level_of_ink(int x0, int y0, int x1, int y1) const {
    std::array<std::int64_t, 256> counts{};
    std::int64_t all = 0;
    each_pixel(x0, y0, x1, y1, [&](l_uint32* /*line*/, int /*x*/, int value) {
      ++counts.at(static_cast<std::size_t>(value));
      ++all;
    });
    std::int64_t darker = 0;
    for (std::size_t value = 0; value < counts.size(); ++value) {
      darker += counts.at(value);
      if (static_cast<float>(darker) >= kPaleCore * static_cast<float>(all)) return static_cast<int>(value);
    }
    return 0;
  }

  Picture& gray_;
  const Picture around_;
  const float paper_;
  bool copied_ = false;
};

}  // namespace

std::vector<Box> darken_pale_text(Picture& gray, int paper, float letters) {
  std::vector<Box> found;
  const Picture ink = gray ? pale_ink(gray.get(), static_cast<float>(paper)) : Picture();
  const std::vector<Box> pieces = ink ? pieces_of(ink.get()) : std::vector<Box>();
  std::vector<Box> like_letters, bands;
  for (const Box& piece : pieces) {
    const float across = piece.width() / letters, down = piece.height() / letters;
    const bool band = across >= kPaleBandWide && down >= kPaleBandLow && down <= kPaleBandHigh;
    const float inked = band ? pale_part(ink, piece) : 0;
    if (band && inked >= kPaleBandInk && inked <= kPaleBandMost) {
      bands.push_back(piece);
    } else if (down >= kPaleLowest && down <= kPaleHighest && across >= kPaleThinnest &&
               across <= kPaleWidest) {
      like_letters.push_back(piece);
    }
  }
  if (like_letters.size() > kPalePiecesMost || (like_letters.size() < kPaleLettersMin && bands.empty()))
    return found;
  PaleDarkener darkener(gray, ink, paper);
  for (const Box& band : bands) darkener.darken(band);
  for (const PaleLine& line : pale_lines(std::move(like_letters))) {
    const bool text = line.letters >= kPaleLettersMin && line.box.width() >= kPaleLongMin * line.box.height();
    if (!text || pale_part(ink, line.box) > kPaleInkMost) continue;
    // What lies below and above it belongs to its letters: descenders, dots and commas.
    const float reach = line.box.height() / 3;
    const Box whole{line.box.x0 - reach, line.box.y0 - reach, line.box.x1 + reach, line.box.y1 + reach};
    if (darkener.darken(whole)) found.push_back(line.box);
  }
  return found;
}

}  // namespace millrace::engines::host
