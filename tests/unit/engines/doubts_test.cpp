#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/host/scan/inset.h"
#include "ai/engines/host/scan/scan_reader.h"
#include "tests/support/pdf_maker.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Items and their amounts, as a scan at 200 dpi.
Picture list_of(process::Spawner& spawner, const std::vector<std::string>& amounts) {
  std::string content;
  int y = 260;
  for (const std::string& amount : amounts) {
    for (const auto& [x, text] : {std::pair{60, std::string("Wheel")}, std::pair{230, amount}})
      content += "BT /F1 11 Tf " + std::to_string(x) + " " + std::to_string(y) + " Td (" + text + ") Tj ET\n";
    y -= 20;
  }
  const auto raster =
      testing::raster_of(spawner, support::PdfMaker().page(std::move(content), 400, 300).bytes(), 200);
  return picture_of({1, raster.width, raster.height, 0}, raster.gray);
}

class DoubtsTest : public ::testing::Test {
 protected:
  std::vector<std::string> doubts_of(const Picture& page) {
    const auto reading = reader_.read(page);
    std::vector<std::string> messages;
    if (!reading) ADD_FAILURE() << reading.error().message;
    for (const auto& warning : reading ? reading->recognised.text.warnings : decltype(PageText::warnings){})
      messages.push_back(warning.code + ": " + warning.message);
    return messages;
  }

  process::Spawner spawner_;
  EngineLimits limits_ = testing::patient_limits();
  Recogniser recogniser_{limits_, "eng"};
  ScanReader reader_{limits_, recogniser_};
};

const std::vector<std::string> kAmounts{"12.50", "34.15", "4?.50", "61.70", "18.25", "77.40"};

TEST_F(DoubtsTest, ANumberWithASignThatNoOtherHasIsDoubtful) {
  EXPECT_THAT(doubts_of(list_of(spawner_, kAmounts)), ElementsAre(HasSubstr("unsure: \"4?.50\"")));
}

TEST_F(DoubtsTest, NumbersThatAreAlikeAreNot) {
  EXPECT_THAT(doubts_of(list_of(spawner_, {"12.50", "34.15", "41.50", "61.70"})), IsEmpty());
}

TEST_F(DoubtsTest, NumbersBeyondTheBudgetOfReadingsAreDoubtfulToo) {
  constexpr int kColumns = 8, kRows = 48, kReadings = 40, kOwn = 7;
  std::string content;
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      const std::string sign = row % 3 == 1 ? (row % 2 == 0 ? "?" : "!") : "4";
      const std::string amount = std::to_string(21 + (7 * row + 5 * column) % 70) + sign + ".50";
      const std::string place = std::to_string(40 + 65 * column) + " " + std::to_string(800 - 16 * row);
      content += "BT /F1 10 Tf " + place + " Td (" + amount + ") Tj ET\n";
    }
  }
  const auto raster =
      testing::raster_of(spawner_, support::PdfMaker().page(std::move(content), 595, 842).bytes(), 200);
  auto doubts = doubts_of(picture_of({1, raster.width, raster.height, 0}, raster.gray));
  std::erase_if(doubts, [](const std::string& doubt) { return doubt.find("not read") != std::string::npos; });
  ASSERT_THAT(doubts, SizeIs(kOwn + 1));
  EXPECT_THAT(doubts.front(), HasSubstr(".50\" in a column of numbers"));
  EXPECT_THAT(doubts.back(), HasSubstr("more numbers of the page"));
  const int more = std::stoi(doubts.back().substr(doubts.back().find(' ')));
  EXPECT_GT(kOwn + more, kReadings);  // more than can have been read again
}

TEST_F(DoubtsTest, EachBandOfALongPictureKeepsItsDoubts) {
  const Picture list = list_of(spawner_, kAmounts);
  Picture tall(pixCreate(width(list), kSideMax + 400, 8));
  pixSetAll(tall.get());
  for (const int y : {100, kSideMax - 600})
    pixRasterop(tall.get(), 0, y, width(list), height(list), PIX_SRC, list.get(), 0, 0);
  ASSERT_TRUE(is_long(tall));
  EXPECT_THAT(doubts_of(tall), SizeIs(2));
}

TEST_F(DoubtsTest, AScanWithinAPageKeepsItsDoubts) {
  auto reading = reader_.read(list_of(spawner_, kAmounts));
  ASSERT_TRUE(reading);
  PageText page;
  page.width = 400;
  page.height = 300;
  std::vector<Box> figures;
  const Picture small(pixCreate(400, 300, 8));
  ASSERT_TRUE(
      add_reading(std::move(*reading), small, {.letters = 1, .confidence = 1, .words = 1}, page, figures));
  EXPECT_THAT(page.warnings, SizeIs(1));
}

}  // namespace
}  // namespace millrace::engines::host
