#include <limits>

#include <gtest/gtest.h>
#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/image.h"
#include "ai/engines/host/scan/inset.h"
#include "ai/engines/host/scan/scan_reader.h"

namespace millrace::engines::host {
namespace {

// EXIF's TIFF part with one entry, the orientation. `order` is the byte order.
std::string tiff_of(const std::string& order, char orientation) {
  const bool big = order == "MM";
  const auto two = [big](char low) { return big ? std::string{'\0', low} : std::string{low, '\0'}; };
  const auto four = [big](char low) {
    return big ? std::string{'\0', '\0', '\0', low} : std::string{low, '\0', '\0', '\0'};
  };
  const std::string tag = big ? "\x01\x12" : "\x12\x01";
  return order + two(42) + four(8) + two(1) + tag + two(3) + four(1) + two(orientation) + two(0) + four(0);
}

const std::string kExif("Exif\0\0", 6);

std::string jpeg_with(const std::string& tiff) {
  const std::string body = kExif + tiff;
  return std::string("\xFF\xD8\xFF\xE0\x00\x04xx\xFF\xE1", 10) + '\0' + static_cast<char>(body.size() + 2) +
         body + "\xFF\xDA";
}

std::string chunk_of(const std::string& name, const std::string& body) {
  return name + static_cast<char>(body.size()) + std::string(3, '\0') + body +
         (body.size() % 2 != 0 ? std::string(1, '\0') : std::string());
}

std::string webp_of(const std::string& chunks) { return chunk_of("RIFF", "WEBP" + chunks); }

TEST(Exif, TheOrientationIsReadInBothOrdersOfBytes) {
  EXPECT_EQ(exif_orientation(jpeg_with(tiff_of("II", 6))), 6);
  EXPECT_EQ(exif_orientation(jpeg_with(tiff_of("MM", 3))), 3);
}

TEST(Exif, PngAndWebpSayItInChunksOfTheirOwn) {
  const std::string tiff = tiff_of("II", 8);
  const std::string length{'\0', '\0', '\0', static_cast<char>(tiff.size())};
  EXPECT_EQ(exif_orientation("\x89PNG\r\n\x1a\n" + length + "eXIf" + tiff + "sums"), 8);
  EXPECT_EQ(exif_orientation(webp_of(chunk_of("VP8 ", "odd") + chunk_of("EXIF", tiff))), 8);
  EXPECT_EQ(exif_orientation(webp_of(chunk_of("EXIF", kExif + tiff))), 8);
}

TEST(Exif, WhatIsNoOrientationIsUpright) {
  EXPECT_EQ(exif_orientation(""), 1);
  EXPECT_EQ(exif_orientation("\xFF\xD8"), 1);
  EXPECT_EQ(exif_orientation(jpeg_with(tiff_of("II", 0))), 1);
  EXPECT_EQ(exif_orientation(jpeg_with(tiff_of("II", 9))), 1);
  EXPECT_EQ(exif_orientation(jpeg_with("II*")), 1);
}

TEST(Exif, AFileThatIsCutOffAnywhereOrLiesAboutLengthsDoesNoHarm) {
  for (const std::string& file :
       {jpeg_with(tiff_of("MM", 6)), webp_of(chunk_of("EXIF", tiff_of("II", 6))),
        "\x89PNG\r\n\x1a\n" + std::string("\xFF\xFF\xFF\xFF") + "eXIf" + tiff_of("II", 6)}) {
    for (std::size_t size = 0; size < file.size(); ++size) {
      const int orientation = exif_orientation(file.substr(0, size));
      EXPECT_TRUE(orientation >= 1 && orientation <= 8) << size;
      std::string lying = file;
      lying[size] = '\xFF';
      EXPECT_LE(exif_orientation(lying), 8) << size;
    }
  }
}

TEST(Exif, StrayBytesBetweenSegmentsAreSkipped) {
  const std::string file = jpeg_with(tiff_of("II", 6));
  const std::size_t second = 8;  // after the start and a segment of six bytes
  EXPECT_EQ(exif_orientation(file.substr(0, second) + "odd" + file.substr(second)), 6);
  EXPECT_EQ(exif_orientation(file.substr(0, second) + "\xFF\xFF" + file.substr(second)), 6);
}

// A page with lines of ink.
std::string jpeg_of_page(int height = 300, bool progressive = false) {
  const Picture page(pixCreate(200, height, 8));
  pixSetAll(page.get());
  for (int y = 20; y < height - 10; y += 10) {
    for (int x = 20; x < 180; ++x) pixSetPixel(page.get(), x, y, 0);
  }
  l_uint8* bytes = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(pixWriteMemJpeg(&bytes, &size, page.get(), 80, progressive ? 1 : 0), 0);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return file;
}

TEST(Image, AJpegWithStrayBytesOrNoEndIsRead) {
  const std::string file = jpeg_of_page();
  ASSERT_TRUE(decode_image(file));
  const std::size_t table = file.find("\xFF\xDB");
  EXPECT_TRUE(decode_image(file.substr(0, table) + "odd" + file.substr(table)));
  const auto endless = decode_image(file.substr(0, file.size() - 2));
  ASSERT_TRUE(endless);
  EXPECT_EQ(pixGetHeight(endless->get()), 300);
  EXPECT_TRUE(decode_image(file + "bytes after the end"));
}

TEST(Image, AJpegCutInTheMiddleIsRefused) {
  const std::string file = jpeg_of_page();
  const std::size_t scan = file.find("\xFF\xDA");
  for (const std::size_t size :
       {file.size() / 5, scan + 4, scan + (file.size() - scan) / 2, file.size() - 500}) {
    const auto cut = decode_image(file.substr(0, size));
    ASSERT_FALSE(cut) << size << " of " << file.size();
    EXPECT_EQ(cut.error().code, base::Code::kDocumentDamaged);
  }
}

TEST(Image, AJpegOfWhichAFewRowsOrTheFinerScansAreMissingIsRefused) {
  for (const bool progressive : {false, true}) {
    const std::string file = jpeg_of_page(1500, progressive);
    EXPECT_TRUE(decode_image(file));
    EXPECT_TRUE(decode_image(file.substr(0, file.size() - 2)));
    for (const std::size_t percent : {20, 50, 90, 98, 99})
      EXPECT_FALSE(decode_image(file.substr(0, file.size() * percent / 100))) << progressive << percent;
  }
}

TEST(Image, APngWithoutItsLastChunkIsReadAndOneThatIsCutIsRefused) {
  const Picture page(pixCreate(200, 300, 8));
  l_uint8* bytes = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(pixWriteMemPng(&bytes, &size, page.get(), 0), 0);
  const std::string file(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  EXPECT_TRUE(decode_image(file));
  EXPECT_TRUE(decode_image(file.substr(0, size - 12)));
  for (const std::size_t cut : {size - 13, size - 16, size - 30, size / 2}) {
    EXPECT_FALSE(decode_image(file.substr(0, cut))) << cut << " of " << size;
  }
}

TEST(MovingWebp, TheFirstFrameBecomesAFileOfItsOwn) {
  const std::string head(16, '\0');
  const std::string frames =
      chunk_of("ANMF", head + chunk_of("VP8L", "one")) + chunk_of("ANMF", head + chunk_of("VP8L", "two"));
  EXPECT_EQ(first_frame(webp_of(chunk_of("ANIM", "colour") + frames)), webp_of(chunk_of("VP8L", "one")));
}

TEST(MovingWebp, AFrameWithAlphaGetsTheHeadThatSaysSo) {
  const std::string head("\0\0\0\0\0\0\x09\0\0\x04\0\0\0\0\0\0", 16);
  const std::string pieces = chunk_of("ALPH", "a") + chunk_of("VP8 ", "b");
  const std::string extended("\x10\0\0\0\x09\0\0\x04\0\0", 10);
  EXPECT_EQ(first_frame(webp_of(chunk_of("ANMF", head + pieces))),
            webp_of(chunk_of("VP8X", extended) + pieces));
}

TEST(MovingWebp, AStillOrBrokenFileHasNone) {
  EXPECT_EQ(first_frame(""), "");
  EXPECT_EQ(first_frame(webp_of(chunk_of("VP8 ", "still"))), "");
  const std::string whole = webp_of(chunk_of("ANMF", std::string(16, '\0') + chunk_of("VP8L", "four")));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(first_frame(whole.substr(0, size)), "") << size;
}

std::vector<int> ends_of(const std::vector<Band>& bands) {
  std::vector<int> ends;
  for (const Band& band : bands) ends.push_back(band.end);
  return ends;
}

TEST(Bands, ThePictureIsCutInTheWidestGapOfTheLastHalfOfABand) {
  std::vector<int> ink(30, 5);
  ink[6] = 0;                     // a narrow gap
  ink[8] = ink[9] = ink[10] = 0;  // a wide gap
  ink[2] = ink[3] = ink[4] = 0;   // too early: the band would be too short
  EXPECT_EQ(ends_of(bands_of(ink, 12)).front(), 10);
}

TEST(Bands, WithoutAGapItIsCutWhereTheInkIsLeast) {
  std::vector<int> ink(20, 9);
  ink[7] = 2;
  EXPECT_EQ(ends_of(bands_of(ink, 10)).front(), 8);
}

TEST(Bands, TheyCoverEveryRowOnceAndNoneIsTooLong) {
  const std::vector<int> ink(1000, 1);
  int row = 0;
  for (const Band& band : bands_of(ink, 7)) {
    EXPECT_EQ(band.first, row);
    EXPECT_GT(band.end, band.first);
    EXPECT_LE(band.end - band.first, 7);
    row = band.end;
  }
  EXPECT_EQ(row, 1000);
  EXPECT_TRUE(bands_of(std::vector<int>{}, 7).empty());
}

PageText page_with_rows(float first, float last) {
  PageText page;
  page.width = 600;
  page.height = 800;
  for (float y = first; y < last; y += 20) page.words.push_back({{50, y, 90, y + 10}, "word", false, false});
  return page;
}

TEST(Inset, ATextLayerThatFillsThePageLeavesNoSpaceForAScan) {
  EXPECT_FALSE(has_free_area(page_with_rows(50, 750)));
  EXPECT_TRUE(has_free_area(page_with_rows(740, 790)));
  EXPECT_TRUE(has_free_area(page_with_rows(20, 100)));
  EXPECT_TRUE(has_free_area(page_with_rows(0, 0)));
}

// The reading of a page with `words` words at two pixels per point, `in_line` words per line.
Reading reading_of(int words, int confidence, int in_line) {
  Reading reading;
  reading.recognised.text.width = 1200;
  reading.recognised.text.height = 1600;
  reading.recognised.confidence = confidence;
  for (int i = 0; i < words; ++i) {
    const auto x = static_cast<float>(120 + 75 * (i % in_line));
    const auto y = static_cast<float>(200 + 40 * (i / in_line));
    reading.recognised.text.words.push_back({{x, y, x + 65, y + 20}, "scanned", false, false});
  }
  return reading;
}

// Renders the page of this reading. The figures are filled with these grays; < 0: a photograph.
Picture drawn_page(const std::vector<Box>& figures, const std::vector<int>& grays) {
  Picture page(pixCreate(600, 800, 8));
  pixSetAllArbitrary(page.get(), 255);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Box& box = figures[i];
    for (int y = pixel_at(box.y0); y < pixel_at(box.y1); ++y) {
      for (int x = pixel_at(box.x0); x < pixel_at(box.x1); ++x) {
        pixSetPixel(page.get(), x, y, static_cast<l_uint32>(grays[i] < 0 ? (x * 7 + y) % 256 : grays[i]));
      }
    }
  }
  return page;
}

const Box kSheet{50, 50, 400, 700};
const Box kPhoto{450, 50, 590, 400};

TEST(Inset, TextOfTheScanJoinsThePagesTextAndIsNoFigure) {
  PageText page = page_with_rows(740, 790);
  std::vector<Box> figures{kSheet};
  add_reading(reading_of(16, 90, 8), drawn_page(figures, {230}), {}, page, figures);
  EXPECT_EQ(page.words.size(), 19U);
  EXPECT_EQ(page.words[3].box.x0, 60);
  EXPECT_TRUE(figures.empty());
}

TEST(Inset, APictureOfAFewWordsOrOneThatIsReadBadlyStaysAFigure) {
  for (Reading reading : {reading_of(3, 95, 8), reading_of(30, 40, 8)}) {
    PageText page = page_with_rows(740, 790);
    std::vector<Box> figures{kSheet};
    add_reading(std::move(reading), drawn_page(figures, {230}), {}, page, figures);
    EXPECT_EQ(page.words.size(), 3U);
    EXPECT_EQ(figures.size(), 1U);
  }
}

TEST(Inset, AChartStaysAFigureWithItsLabels) {
  PageText page = page_with_rows(740, 790);
  std::vector<Box> figures{kSheet};
  add_reading(reading_of(12, 90, 1), drawn_page(figures, {230}), {}, page, figures);
  EXPECT_EQ(page.words.size(), 3U);
  EXPECT_EQ(figures.size(), 1U);
}

TEST(Inset, LabelsAmongThePiecesOfAChartAreSeenThere) {
  PageText page = page_with_rows(740, 790);
  std::vector<Box> figures{{110, 100, 140, 400}, {70, 100, 100, 400}};
  add_reading(reading_of(8, 90, 1), drawn_page(figures, {60, 60}), {}, page, figures);
  EXPECT_EQ(page.words.size(), 3U);
  EXPECT_EQ(figures.size(), 2U);
}

TEST(Inset, OfATurnedReadingOnlyThePaperIsNoFigure) {
  PageText page = page_with_rows(740, 790);
  std::vector<Box> figures{kSheet, kPhoto};
  Reading reading = reading_of(16, 90, 8);
  reading.quarter_turns = 1;
  add_reading(std::move(reading), drawn_page(figures, {230, -1}), {}, page, figures);
  EXPECT_EQ(page.words.size(), 19U);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].x0, kPhoto.x0);
}

TEST(Inset, WordsThatLieNowhereDoNoHarm) {
  PageText page = page_with_rows(0, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  page.words.push_back({{-1e30F, nan, 1e30F, 3e38F}, "far", false, false});
  const Picture drawn = drawn_page({}, {});
  wipe_words(drawn, page);
  EXPECT_FALSE(hides_scan(drawn, page, {}));
}

// A transparent picture with a stroke of this colour.
Picture stroke_of(int value) {
  Picture picture(pixCreate(40, 40, 32));
  pixSetSpp(picture.get(), 4);
  for (int x = 10; x < 30; ++x) {
    l_uint32 pixel = 0;
    composeRGBAPixel(value, value, value, 255, &pixel);
    pixSetPixel(picture.get(), x, 20, pixel);
  }
  return picture;
}

TEST(Flattened, ClearGroundBecomesThePaperThatTheInkStandsOutFrom) {
  for (const int ink : {0, 255}) {
    const Picture gray = to_gray(flattened(stroke_of(ink)));
    l_uint32 dependencies = 0;
    l_uint32 stroke = 0;
    pixGetPixel(gray.get(), 5, 5, &dependencies);
    pixGetPixel(gray.get(), 15, 20, &stroke);
    EXPECT_EQ(dependencies, ink == 0 ? 255U : 0U);
    EXPECT_EQ(stroke, static_cast<l_uint32>(ink));
  }
}

TEST(Flattened, ABrightCardKeepsItsGroundWhereItsCornersAreClear) {
  Picture card(pixCreate(40, 40, 32));
  pixSetSpp(card.get(), 4);
  for (int y = 0; y < 40; ++y) {
    l_uint32 pixel = 0;
    composeRGBAPixel(250, 250, 250, 255, &pixel);
    for (int x = y < 4 ? 4 : 0; x < 40; ++x) pixSetPixel(card.get(), x, y, pixel);
  }
  const Picture gray = to_gray(flattened(std::move(card)));
  l_uint32 corner = 0;
  pixGetPixel(gray.get(), 1, 1, &corner);
  EXPECT_EQ(corner, 255U);
}

// White paper with `count` black rings of the given height in a row.
Picture rings_on(int across, int down, int count, int size) {
  Picture page(pixCreate(across, down, 8));
  pixSetAll(page.get());
  for (int i = 0; i < count; ++i) {
    const int left = size / 2 + i * (size + size / 4), top = (down - size) / 2;
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        const int edge = std::min({x, y, size - 1 - x, size - 1 - y});
        if (edge < size / 8) pixSetPixel(page.get(), left + x, top + y, 0);
      }
    }
  }
  return page;
}

TEST(Prepared, LettersAsTallAsAThirdOfThePageAreLetters) {
  for (const int size : {100, 170, 400}) {
    const Prepared prepared = prepare(rings_on(7 * size, 3 * size, 5, size));
    ASSERT_FALSE(prepared.blank) << size;
    EXPECT_LT(height(prepared.gray), 60) << size;
  }
}

TEST(Prepared, AFewTallPiecesBesideTextAreNotItsLetters) {
  Picture page = rings_on(2000, 1200, 4, 300);
  for (int x = 40; x < 1900; x += 40) {
    for (int y = 0; y < 20; ++y) {
      for (int i = 0; i < 4; ++i) pixSetPixel(page.get(), x + i, 40 + y, 0);
    }
  }
  EXPECT_EQ(prepare(page).letter_px, 20);
}

TEST(Prepared, APictureTooLowForLettersIsBlankHoweverWideItIs) {
  const Picture line(pixCreate(30'000, 1, 8));
  EXPECT_TRUE(prepare(line).blank);
}

}  // namespace
}  // namespace millrace::engines::host
