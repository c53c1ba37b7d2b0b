#include "ai/engines/host/documents/page_rules.h"

#include <gtest/gtest.h>

#include "ai/engines/host/documents/content_rules.h"
#include "tests/support/pdf_maker.h"

namespace millrace::engines::host {
namespace {

using millrace::support::PdfMaker;
using std::chrono::milliseconds;

constexpr milliseconds kTime{10'000};

Rules rules_in(const std::string& content, const Matrix& at = {}) {
  ContentReader reader;
  reader.read(content, at, [](std::string_view, const Matrix&) {});
  return reader.take();
}

std::size_t count_of(const Rules& rules) { return rules.across.size() + rules.down.size(); }

TEST(ContentRules, StraightStrokesAndThinAreasAreRules) {
  EXPECT_EQ(rules_in("10 20 m 110 20 l S").across.at(0).x1, 110);
  EXPECT_EQ(rules_in("10 20 m 10 90 l s").down.at(0).y1, 90);
  EXPECT_EQ(count_of(rules_in("10 20 100 50 re S")), 4U) << "the sides of a rectangle";
  EXPECT_EQ(rules_in("10 20 100 .5 re f").across.size(), 1U);
  EXPECT_EQ(rules_in("10 20 m 110 20 l 110 21 l 10 21 l h f*").across.size(), 1U);
  EXPECT_EQ(rules_in("q .1 0 0 .1 0 0 cm 100 200 m 1100 200 l S Q").across.at(0).x1, 110);
}

TEST(ContentRules, WhatIsNotSeenAsALineIsNone) {
  for (const std::string content :
       {"10 20 m 110 40 l S", "10 20 m 10 20 60 90 110 20 c S", "1 g 10 20 100 1 re f",
        "1 1 1 RG 10 20 m 110 20 l S", "0 0 0 0 k 10 20 100 1 re f", "10 20 100 50 re f",
        "10 20 m 110 20 l n", "9 w 10 20 m 110 20 l S", "10 20 2 2 re f"}) {
    EXPECT_EQ(count_of(rules_in(content)), 0U) << content;
  }
  EXPECT_EQ(count_of(rules_in("q 1 G Q 10 20 m 110 20 l S")), 1U) << "the colour ends with its state";
}

TEST(ContentRules, PiecesOfALineAreOne) {
  std::string dashes;
  for (int x = 0; x < 300; x += 3)
    dashes += std::to_string(x) + " 20 m " + std::to_string(x + 2) + " 20.2 l S\n";
  ASSERT_EQ(rules_in(dashes).across.size(), 1U);
  EXPECT_EQ(rules_in(dashes).across[0].x1, 299);
  EXPECT_EQ(rules_in("0 0 m 50 0 l S 70 0 m 90 0 l S").across.size(), 2U);
}

TEST(ContentRules, AnyBytesAreRead) {
  for (const std::string content :
       {"", "(", "((a)\\", "<", "<<", "[", "/", "%", "BI ID", "BI ID EI", "Q Q Q l S", "1e9 - . -- m l S",
        "re re S", "1e38 1e38 1e38 1e38 re S", "nan nan m 1 1 l S", "h h S"}) {
    EXPECT_EQ(count_of(rules_in(content)), 0U) << content;
  }
  EXPECT_EQ(count_of(rules_in("BI /W 1 ID \x01m EI (\\)) Tj <</A (>>)>> 0 0 m 50 0 l S")), 1U);
}

TEST(ContentRules, APageOfTooManyIsADrawing) {
  std::string content;
  for (int y = 0; y < 2100; ++y)
    content += "0 " + std::to_string(3 * y) + " m 90 " + std::to_string(3 * y) + " l S\n";
  EXPECT_EQ(count_of(rules_in(content)), 0U);
}

std::vector<CheckBox> boxes_in(const std::string& content) {
  ContentReader reader;
  reader.read(content, {}, [](std::string_view, const Matrix&) {});
  return reader.take_check_boxes();
}

const std::string kCircle =
    "108 100 m 108 104.4 104.4 108 100 108 c 95.6 108 92 104.4 92 100 c 92 95.6 95.6 92 100 92 c "
    "104.4 92 108 95.6 108 100 c ";

TEST(ContentRules, HollowSquaresAndCirclesOfTheSizeOfLettersAreBoxesToTick) {
  ASSERT_EQ(boxes_in("10 20 12 12 re S").size(), 1U);
  EXPECT_EQ(boxes_in("10 20 12 12 re S")[0].box.x1, 22);
  EXPECT_FALSE(boxes_in("10 20 12 12 re S")[0].ticked);
  EXPECT_EQ(boxes_in("10 20 m 22 20 l 22 32 l 10 32 l s").size(), 1U);
  EXPECT_EQ(boxes_in(kCircle + "S").size(), 1U);
  EXPECT_EQ(boxes_in("1 g 10 20 12 12 re B").size(), 1U) << "filled with white";
  EXPECT_EQ(boxes_in("10 20 12 12 re S 10 20 12 12 re S").size(), 1U) << "painted twice";
}

TEST(ContentRules, WhatIsPaintedInABoxTicksIt) {
  EXPECT_TRUE(boxes_in("10 20 12 12 re S 12 22 m 20 30 l 20 22 m 12 30 l S").at(0).ticked);
  EXPECT_TRUE(boxes_in("12 22 m 15 24 l 20 30 l S 10 20 12 12 re S").at(0).ticked);
  EXPECT_TRUE(boxes_in("13 23 6 6 re f 10 20 12 12 re S").at(0).ticked);
  EXPECT_FALSE(boxes_in("113 23 6 6 re f 10 20 12 12 re S").at(0).ticked);
}

TEST(ContentRules, ALightBackgroundDoesNotTickABox) {
  for (const std::string content :
       {"0.9 g 10 20 12 12 re f 0 G 10 20 12 12 re S", "0.9 g 10 20 12 12 re B",
        "1 1 0.8 rg 10 20 12 12 re B", "0.05 0.02 0 0.1 k 11 21 10 10 re f 10 20 12 12 re S"}) {
    ASSERT_EQ(boxes_in(content).size(), 1U) << content;
    EXPECT_FALSE(boxes_in(content)[0].ticked) << content;
  }
  EXPECT_TRUE(boxes_in("0.9 g 10 20 12 12 re B 0 g 13 23 6 6 re f").at(0).ticked);
  EXPECT_TRUE(boxes_in("0 0.6 0 rg 13 23 6 6 re f 10 20 12 12 re S").at(0).ticked) << "green";
  EXPECT_TRUE(boxes_in("0.4 g 10 20 12 12 re B").empty()) << "filled";
}

TEST(ContentRules, SquaresOfSeveralColoursAreTheLegendOfAChart) {
  for (const std::string content :
       {"0.8 0.9 1 rg 10 20 12 12 re B 1 0.9 0.8 rg 10 40 12 12 re B",
        "0.8 0.9 1 rg 10 20 12 12 re f 10 20 12 12 re S 1 0.9 0.8 rg 10 40 12 12 re f 10 40 12 12 re S",
        "0.8 0.9 1 rg 10 20 12 12 re B 0 0.2 0.6 rg 10 40 12 12 re B",
        "0.8 0.9 1 rg 10 20 12 12 re B 0 0.2 0.6 rg 10 40 12 12 re f"}) {
    EXPECT_TRUE(boxes_in(content).empty()) << content;
  }
  const std::string form = "0.8 0.9 1 rg 10 20 12 12 re B 10 40 12 12 re B 10 60 12 12 re S ";
  EXPECT_EQ(boxes_in(form).size(), 3U);
  EXPECT_EQ(boxes_in(form + "1 g 10 80 12 12 re B 0 g 10 20 12 12 re f 0.4 g 100 20 6 6 re f").size(), 4U);
}

TEST(ContentRules, OtherShapesAreNoBoxes) {
  for (const std::string content :
       {"10 20 12 12 re f", "10 20 30 30 re S", "10 20 3 3 re S", "10 20 24 8 re S", "10 20 12 12 re n",
        "1 G 10 20 12 12 re S", "10 20 m 16 30 l 22 20 l s", "10 20 12 12 re S 22 20 12 12 re S"}) {
    EXPECT_TRUE(boxes_in(content).empty()) << content;
  }
  std::string many;
  for (int i = 0; i < 600; ++i) many += std::to_string(20 * i) + " 20 12 12 re S\n";
  EXPECT_TRUE(boxes_in(many).empty());
}

std::size_t dots_in(const std::string& content) {
  ContentReader reader;
  reader.read(content, {}, [](std::string_view, const Matrix&) {});
  return reader.dots().size();
}

TEST(ContentRules, SmallDiscsCirclesAndSquaresAreDots) {
  const std::string disc = "4 2 m 4 3 3 4 2 4 c 1 4 0 3 0 2 c 0 1 1 0 2 0 c 3 0 4 1 4 2 c ";
  EXPECT_EQ(dots_in(disc + "f"), 1U);
  EXPECT_EQ(dots_in(disc + "s"), 1U);
  EXPECT_EQ(dots_in("10 20 4 4 re f 10 40 4 4 re f"), 2U);
  EXPECT_EQ(dots_in("0.8 g 10 20 4 4 re f"), 1U) << "light gray";
  EXPECT_EQ(dots_in("10 20 9 9 re f 10 40 5 2 re f 10 60 1 1 re f"), 0U);
  EXPECT_EQ(dots_in("13 23 5 5 re f 10 20 12 12 re S"), 0U) << "it ticks a box";
  EXPECT_EQ(dots_in("1 g " + disc + "f"), 0U) << "white";
}

TEST(PageRules, TheyLieWhereTheReaderSeesThem) {
  PdfMaker maker;
  for (int turns = 0; turns < 4; ++turns) maker.page("100 700 m 200 700 l S", 500, 800, turns);
  const auto found = drawings_of(maker.bytes(), {0, 1, 2, 3}, kTime);
  ASSERT_EQ(found.size(), 4U);
  const auto is = [](const std::vector<Box>& rules, float x0, float y0, float x1, float y1) {
    const Box& box = rules.at(0);
    return box.x0 == x0 && box.y0 == y0 && box.x1 == x1 && box.y1 == y1;
  };
  EXPECT_TRUE(is(found.at(0).rules.across, 100, 100, 200, 100));
  EXPECT_TRUE(is(found.at(1).rules.down, 700, 100, 700, 200));
  EXPECT_TRUE(is(found.at(2).rules.across, 300, 700, 400, 700));
  EXPECT_TRUE(is(found.at(3).rules.down, 100, 300, 100, 400));
}

TEST(PageRules, TheyLieInTheMediaBoxWhenTheCropBoxHasNoPartOfIt) {
  std::string pdf = PdfMaker().page("100 700 m 200 700 l S", 500, 800).bytes();
  const std::string box = "/MediaBox [0 0 500.000000 800.000000] /Rotate 0";
  const std::string cropped = "/MediaBox[0 0 500 800]/CropBox[700 900 800 990]";
  ASSERT_EQ(box.size(), cropped.size()) << "the table of objects stays right";
  pdf.replace(pdf.find(box), box.size(), cropped);
  EXPECT_EQ(drawings_of(pdf, {0}, kTime).at(0).rules.across.at(0).y0, 100);
}

TEST(PageRules, PagesWithoutRulesAndDamagedFilesHaveNone) {
  const std::string pdf = PdfMaker().text_page({"text"}).page("0 0 m 90 0 l S").bytes();
  EXPECT_EQ(drawings_of(pdf, {0, 1, 7}, kTime).size(), 1U);
  EXPECT_TRUE(drawings_of(pdf.substr(0, pdf.size() / 2), {0, 1}, kTime).empty());
  EXPECT_TRUE(drawings_of("", {0}, kTime).empty());
}

TEST(PageRules, APageThatDrawsForeverHasNone) {
  const std::string pdf = PdfMaker().bomb_page(9).page("0 0 m 90 0 l S").bytes();
  const auto found = drawings_of(pdf, {0, 1}, kTime);
  EXPECT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.contains(1));
}

}  // namespace
}  // namespace millrace::engines::host
