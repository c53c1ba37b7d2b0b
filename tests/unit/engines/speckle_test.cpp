#include <random>

#include <gtest/gtest.h>
#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/cleanup.h"

namespace millrace::engines::host {
namespace {

constexpr int kSide = 400;
constexpr int kStroke = 4;
constexpr int kPitch = 40;

// Strokes like those of letters: black bars on white.
Picture strokes(int paper = 255, int ink = 0) {
  Picture page(pixCreate(kSide, kSide, 8));
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const bool inked = x % kPitch < kStroke && y % kPitch < kPitch / 2;
      pixSetPixel(page.get(), x, y, static_cast<l_uint32>(inked ? ink : paper));
    }
  }
  return page;
}

Picture black_and_white(const Picture& gray) { return Picture(pixConvertTo1(gray.get(), 128)); }

Picture dithered(const Picture& gray) { return Picture(pixDitherToBinary(gray.get())); }

// Inverts `percent` percent of the squares. A square is `size` pixels wide.
Picture with_specks(int percent, int size = 1) {
  Picture page = strokes();
  std::mt19937 chance(7);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      if (x % size != 0 || y % size != 0 || static_cast<int>(chance() % 100) >= percent) continue;
      l_uint32 was = 0;
      pixGetPixel(page.get(), x, y, &was);
      for (int i = 0; i < size * size; ++i) pixSetPixel(page.get(), x + i % size, y + i / size, 255 - was);
    }
  }
  return page;
}

int differing(const Picture& one, const Picture& other) {
  const Picture odd(pixXor(nullptr, one.get(), other.get()));
  l_int32 count = 0;
  pixCountPixels(odd.get(), &count, nullptr);
  return count;
}

TEST(Speckle, StrokesAreNone) { EXPECT_FALSE(speckled(black_and_white(strokes()).get())); }

TEST(Speckle, AnEmptyPageHasNone) {
  const Picture empty(pixCreate(kSide, kSide, 1));
  EXPECT_FALSE(speckled(empty.get()));
}

TEST(Speckle, DitheredPaperIsSpeckled) {
  for (const int paper : {235, 225, 190}) EXPECT_TRUE(speckled(dithered(strokes(paper, 45)).get())) << paper;
}

TEST(Speckle, SaltAndPepperIsSpeckledFromOneInAHundredOn) {
  for (const int percent : {1, 3, 6, 10}) {
    EXPECT_TRUE(speckled(black_and_white(with_specks(percent)).get())) << percent;
  }
}

TEST(Speckle, CalmedDotsAreGoneAndStrokesStay) {
  const Picture clean = black_and_white(strokes());
  for (const Picture& spoiled :
       {with_specks(6), Picture(pixConvertTo8(dithered(strokes(225, 45)).get(), 0))}) {
    const int before = differing(black_and_white(spoiled), clean);
    const Picture calm = black_and_white(despeckled(spoiled.get()));
    EXPECT_FALSE(speckled(calm.get()));
    EXPECT_LT(differing(calm, clean), before / 3);
  }
}

// Only specks, `size` pixels wide. No letter is among them.
Picture specks_alone(int size) {
  Picture page(pixCreate(2000, 2000, 8));
  pixSetAll(page.get());
  for (int y = 0; y < 2000; y += 2 * size) {
    for (int x = 0; x < 2000; x += 2 * size) {
      for (int i = 0; i < size * size; ++i) pixSetPixel(page.get(), x + i % size, y + i / size, 0);
    }
  }
  return page;
}

TEST(Speckle, MorePiecesThanLettersCouldBeReadInTimeAreNoiseAndStrokesAreNot) {
  EXPECT_TRUE(prepare(specks_alone(4), 0).noise);
  EXPECT_FALSE(prepare(strokes(), 0).noise);
}

}  // namespace
}  // namespace millrace::engines::host
