#include <functional>

#include <gtest/gtest.h>
#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/host/scan/scan_reader.h"
#include "tests/support/pdf_maker.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines::host {
namespace {

// A table with more digits than letters, as a scan at 200 dpi.
Picture times_of(process::Spawner& spawner, const std::vector<std::vector<std::string>>& rows) {
  std::string content;
  int y = 700;
  for (const auto& row : rows) {
    int x = 60;
    for (const std::string& text : row) {
      content += "BT /F1 10 Tf " + std::to_string(x) + " " + std::to_string(y) + " Td (" + text + ") Tj ET\n";
      x += 80;
    }
    y -= 16;
  }
  const auto raster =
      testing::raster_of(spawner, support::PdfMaker().page(std::move(content), 595, 842).bytes(), 200);
  return picture_of({1, raster.width, raster.height, 0}, raster.gray);
}

const std::vector<std::vector<std::string>> kTimes{
    {"Query", "Rows", "p50", "p99", "Share"}, {"Q1", "10", "11 ms", "14 ms", "5 %"},
    {"Q2", "1", "0 ms", "0 ms", "5 %"},       {"Q3", "100", "3 ms", "0 ms", "5 %"},
    {"Q4", "100", "11 ms", "0 ms", "10 %"},   {"Q5", "1", "25 ms", "101 ms", "10 %"},
    {"Q6", "1", "0 ms", "5 ms", "0 %"},       {"Q7", "0", "0 ms", "0 ms", "10 %"},
    {"Q8", "0", "1 ms", "5 ms", "1 %"}};

class ScanDigitsTest : public ::testing::Test {
 protected:
  // The words of the page in their order, without spaces.
  static std::string text_of(const Reading& reading) {
    std::string text;
    for (const Word& word : reading.recognised.text.words) text += word.text;
    std::erase(text, ' ');
    return text;
  }
  process::Spawner spawner_;
  EngineLimits limits_ = testing::patient_limits();
  Recogniser recogniser_{limits_, "eng"};
  ScanReader reader_{limits_, recogniser_};
};

TEST_F(ScanDigitsTest, APageOfDigitsIsNotReadOnEndHoweverItIsTurned) {
  const Picture page = times_of(spawner_, kTimes);
  for (const int turns : {0, 1, 2, 3}) {
    const auto reading = reader_.read(turned(page, turns));
    ASSERT_TRUE(reading);
    EXPECT_EQ((reading->quarter_turns + turns) % 4, 0);
    EXPECT_FALSE(reading->recognised.sideways);
    EXPECT_NE(text_of(*reading).find("Q5125ms101ms10%"), std::string::npos)
        << turns << ": " << text_of(*reading).substr(0, 40);
  }
}

// Figures of a kind below each other, as many as a page has.
std::vector<std::vector<std::string>> figures(int rows, const std::function<std::string(int)>& figure) {
  std::vector<std::vector<std::string>> table(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < 6; ++column)
      table[static_cast<std::size_t>(row)].push_back(figure(6 * row + column));
  }
  return table;
}

TEST_F(ScanDigitsTest, APageOfNumbersAloneIsReadUprightHoweverItIsTurned) {
  const auto amount = [](int i) {
    return std::to_string(1201 + (i * 977) % 8000) + "." + std::to_string(10 + (i * 37) % 90);
  };
  const auto few = [](int i) { return std::to_string(10 + (i * 37) % 90); };
  const auto many = [](int i) { return std::to_string(10'203 + (i * 99'713) % 800'000); };
  const auto check = [this](const std::vector<std::vector<std::string>>& table, int turns) {
    const auto reading = reader_.read(turned(times_of(spawner_, table), turns));
    ASSERT_TRUE(reading);
    EXPECT_EQ((reading->quarter_turns + turns) % 4, 0);
    EXPECT_NE(text_of(*reading).find(table[3][0]), std::string::npos)
        << turns << ": " << text_of(*reading).substr(0, 60);
  };
  for (const int turns : {0, 1, 2, 3}) check(figures(6, few), turns);
  for (const int turns : {1, 2}) check(figures(12, amount), turns);
  check(figures(42, many), 1);
}

TEST_F(ScanDigitsTest, NumbersWithAUnitAreNoLetters) {
  const auto reading = reader_.read(times_of(spawner_, kTimes));
  ASSERT_TRUE(reading);
  const std::string text = text_of(*reading);
  EXPECT_NE(text.find("Q210ms0ms5%"), std::string::npos) << text;
  EXPECT_NE(text.find("Q700ms0ms10%"), std::string::npos) << text;
  EXPECT_EQ(text.find("Oms"), std::string::npos) << text;
}

}  // namespace
}  // namespace millrace::engines::host
