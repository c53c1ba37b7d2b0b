#include "ai/engines/layout/scan_layer.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// What was read of a page of 600 × 800 points at two pixels per point.
PageText read_of(const Sheet& sheet) {
  PageText read = sheet.page();
  read.width = 1200;
  read.height = 1600;
  for (Word& word : read.words) {
    word.box = {2 * word.box.x0, 2 * word.box.y0, 2 * word.box.x1, 2 * word.box.y1};
    word.confidence = 90;
  }
  return read;
}

std::vector<std::string> texts_of(const PageText& page) {
  std::vector<std::string> texts;
  for (const Word& word : page.words) texts.push_back(word.text);
  return texts;
}

std::vector<std::string> kept(const Sheet& layer, PageText read) {
  keep_layer(layer.page(), 0, read);
  return texts_of(read);
}

TEST(ScanLayer, AWordOfTheLayerTakesThePlaceOfWhatWasReadThere) {
  EXPECT_THAT(kept(Sheet().put(50, 100, "RECEIVED").put(50, 300, "No. 1701"),
                   read_of(Sheet().put(50, 100, "RECE1VED").put(50, 200, "wheel").put(50, 300, "No. 170l"))),
              UnorderedElementsAre("wheel", "RECEIVED", "No.", "1701"));
}

TEST(ScanLayer, AWordThatWasNotReadIsAdded) {
  EXPECT_THAT(kept(Sheet().put(50, 100, "RECEIVED"), read_of(Sheet().put(50, 200, "wheel"))),
              UnorderedElementsAre("wheel", "RECEIVED"));
}

TEST(ScanLayer, WordsThatWereReadAsOneAreReplaced) {
  EXPECT_THAT(kept(Sheet().put(50, 100, "page 12"), read_of(Sheet().put(50, 100, "page_12"))),
              ElementsAre("page", "12"));
}

TEST(ScanLayer, APageThatWasTurnedTurnsItsLayer) {
  PageText read;
  read.width = 1600;
  read.height = 1200;
  keep_layer(Sheet().put(50, 100, "stamp").page(), 1, read);
  ASSERT_EQ(read.words.size(), 1U);
  const Word& word = read.words[0];
  EXPECT_EQ(word.turn, Orientation::kDown);
  EXPECT_FLOAT_EQ(word.box.x0, 2 * (800 - 110));
  EXPECT_FLOAT_EQ(word.box.y0, 2 * 50);
}

TEST(ScanLayer, HiddenTextOfSomethingElseIsPlacedBelowThePage) {
  const Sheet layer = Sheet().put(50, 100, "qzxv wwww kkkk yyyy");
  PageText read = read_of(Sheet().put(50, 100, "this page says more"));
  keep_layer(layer.page(), 0, read);
  EXPECT_THAT(texts_of(read), ElementsAre("this", "page", "says", "more", "qzxv", "wwww", "kkkk", "yyyy"));
  EXPECT_GE(read.words[4].box.y0, read.height);
}

TEST(ScanLayer, AWordThatWasReadWithoutConfidenceContradictsNothing) {
  PageText read = read_of(Sheet().put(50, 100, "this page says more"));
  for (Word& word : read.words) word.confidence = 40;
  EXPECT_THAT(kept(Sheet().put(50, 100, "qzxv wwww kkkk yyyy"), read),
              ElementsAre("qzxv", "wwww", "kkkk", "yyyy"));
}

// The page with other texts in the places of its words.
Sheet renamed(const Sheet& sheet, const std::vector<std::string>& texts) {
  Sheet other;
  for (std::size_t i = 0; i < texts.size(); ++i) other.box(sheet.page().words[i].box, texts[i]);
  return other;
}

const Sheet kWheel = Sheet().put(50, 100, "The wheel turns slowly and many sacks stand ready");

TEST(ScanLayer, APoorLayerDoesNotReplaceWhatWasReadWell) {
  const Sheet layer =
      renamed(kWheel, {"Tbe", "wlieel", "tnrns", "slovvly", "and", "rnany", "sacks", "stnnd", "ready"});
  EXPECT_THAT(kept(layer, read_of(kWheel)), UnorderedElementsAre("The", "wheel", "turns", "slowly", "and",
                                                                 "many", "sacks", "stand", "ready"));
}

TEST(ScanLayer, APoorLayerStillAddsWhatWasNotRead) {
  Sheet layer = renamed(kWheel, {"Tbe", "wlieel", "tnrns", "slovvly"});
  PageText read = read_of(kWheel);
  read.words.resize(4);
  EXPECT_THAT(kept(layer.put(50, 300, "COPY"), read),
              UnorderedElementsAre("The", "wheel", "turns", "slowly", "COPY"));
}

TEST(ScanLayer, ASoundLayerReplacesWhatWasReadInAnotherLanguage) {
  const Sheet layer = Sheet().put(50, 100, "Der große Müller öffnet schnell die schöne Tür");
  const std::vector<std::string> read{"Der", "grofe", "Miiller", "6ffnet", "schnell", "die", "sch6ne", "Tir"};
  EXPECT_THAT(kept(layer, read_of(renamed(layer, read))),
              UnorderedElementsAre("Der", "große", "Müller", "öffnet", "schnell", "die", "schöne", "Tür"));
}

TEST(ScanLayer, AWordWithDigitsAmongItsLettersDoesNotReplaceAWord) {
  const Sheet layer = Sheet().put(50, 100, "RECE1VED at SW1A").put(50, 200, kProse[0]);
  std::vector<std::string> read{"RECEIVED", "at", "SWIA"};
  for (std::size_t i = 3; i < layer.page().words.size(); ++i) read.push_back(layer.page().words[i].text);
  const auto texts = kept(layer, read_of(renamed(layer, read)));
  EXPECT_THAT(texts, ::testing::Contains("RECEIVED"));
  EXPECT_THAT(texts, ::testing::Contains("SW1A"));
  EXPECT_THAT(texts, ::testing::SizeIs(read.size()));
}

TEST(ScanLayer, WithoutALayerNothingChanges) {
  EXPECT_THAT(kept(Sheet(), read_of(Sheet().put(50, 100, "wheel"))), ElementsAre("wheel"));
  PageText read = read_of(Sheet().put(50, 100, "wheel"));
  keep_layer(PageText(), 0, read);
  EXPECT_THAT(texts_of(read), ElementsAre("wheel"));
}

}  // namespace
}  // namespace millrace::engines
