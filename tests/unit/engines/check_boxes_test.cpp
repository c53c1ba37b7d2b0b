#include "ai/engines/layout/check_boxes.h"

#include <gtest/gtest.h>
#include <leptonica/allheaders.h>

#include "ai/engines/host/pictures/page_part.h"
#include "ai/engines/host/pictures/shapes.h"
#include "tests/unit/engines/sheet.h"

namespace millrace::engines::check_boxes_test {
namespace {

std::string with_boxes(const Sheet& sheet, const std::vector<CheckBox>& boxes) {
  PageText page = sheet.page();
  add_check_boxes(boxes, page);
  return markdown_of(page);
}

TEST(CheckBoxes, TheyStandBesideTheirText) {
  Sheet sheet;
  sheet.put(70, 100, "I accept the terms").put(70, 130, "Send me the news");
  EXPECT_EQ(with_boxes(sheet, {{{50, 100, 60, 110}, true}, {{50, 130, 60, 140}, false}}),
            "- [x] I accept the terms\n- [ ] Send me the news");
}

TEST(CheckBoxes, BehindTheirTextTheyStay) {
  Sheet sheet;
  sheet.put(50, 100, "Yes").put(120, 100, "No");
  const std::string text = with_boxes(sheet, {{{70, 100, 80, 110}, true}, {{136, 100, 146, 110}, false}});
  EXPECT_NE(text.find("Yes [x]"), std::string::npos) << text;
  EXPECT_NE(text.find("No [ ]"), std::string::npos) << text;
}

TEST(CheckBoxes, WithoutTextTheySayNothing) {
  Sheet sheet;
  sheet.put(50, 100, "I agree.");
  EXPECT_EQ(with_boxes(sheet, {{{200, 98, 214, 112}, false}, {{50, 300, 60, 310}, true}}), "I agree.");
  EXPECT_EQ(with_boxes(Sheet(), {{{200, 98, 214, 112}, false}}), "");
}

// Questions with five columns of boxes, the second of which is ticked.
Sheet survey(std::vector<CheckBox>& boxes) {
  Sheet sheet;
  for (int column = 0; column < 5; ++column)
    sheet.put(252 + 40 * static_cast<float>(column), 100, std::to_string(column + 1));
  sheet.put(50, 100, "Question");
  float y = 120;
  for (const std::string question : {"The staff were friendly", "The room was clean", "I would come again"}) {
    sheet.put(50, y, question);
    for (int column = 0; column < 5; ++column) {
      const float x = 250 + 40 * static_cast<float>(column);
      boxes.push_back({{x, y, x + 9, y + 9}, column == 1});
    }
    y += 20;
  }
  return sheet;
}

TEST(CheckBoxes, InTheCellsOfATableTheyStay) {
  std::vector<CheckBox> boxes;
  const Sheet sheet = survey(boxes);
  EXPECT_EQ(with_boxes(sheet, boxes),
            "| Question | 1 | 2 | 3 | 4 | 5 |\n| --- | --- | --- | --- | --- | --- |\n"
            "| The staff were friendly | [ ] | [x] | [ ] | [ ] | [ ] |\n"
            "| The room was clean | [ ] | [x] | [ ] | [ ] | [ ] |\n"
            "| I would come again | [ ] | [x] | [ ] | [ ] | [ ] |");
}

// Two columns of prose, and in the first one a chart of two series of open circles with a legend.
TEST(CheckBoxes, TheMarksOfAChartSayNothing) {
  Sheet sheet;
  for (int i = 0; i < 24; ++i)
    sheet.put(320, 100 + 14 * static_cast<float>(i), "prose of the other column of the paper");
  for (int i = 0; i < 5; ++i)
    sheet.put(50, 150 + 30 * static_cast<float>(i), "0." + std::to_string(8 - 2 * i));
  sheet.put(110, 130, "first series").put(220, 130, "second series");
  std::vector<CheckBox> boxes{{{96, 133, 102, 139}}, {{206, 133, 212, 139}}};
  for (int i = 0; i < 9; ++i) {
    const float x = 80 + 22 * static_cast<float>(i), at = static_cast<float>(i);
    const float first = 270 - 2.2F * at * at, second = 190 + 60 / (1 + at);
    boxes.push_back({{x, first, x + 6, first + 6}});
    boxes.push_back({{x, second, x + 6, second + 6}});
  }
  const std::string text = with_boxes(sheet, boxes);
  EXPECT_EQ(text.find("[ ]"), std::string::npos) << text;
}

TEST(CheckBoxes, AColumnOfBoxesFarFromTheirTextStays) {
  Sheet sheet;
  std::vector<CheckBox> boxes;
  float y = 100;
  for (const std::string meal : {"A meal without meat", "A meal for children", "No meal"}) {
    sheet.put(50, y, meal);
    boxes.push_back({{300, y, 309, y + 9}});
    y += 20;
  }
  const std::string text = with_boxes(sheet, boxes);
  EXPECT_NE(text.find("[ ]  \n[ ]  \n[ ]"), std::string::npos) << text;
}

TEST(CheckBoxes, BelowTheirHeadsTheyStay) {
  Sheet sheet;
  sheet.put(50, 100, "Yes").put(150, 100, "No");
  const std::string text = with_boxes(sheet, {{{53, 118, 62, 127}, true}, {{151, 118, 160, 127}, false}});
  EXPECT_NE(text.find("[x] [ ]"), std::string::npos) << text;
}

TEST(CheckBoxes, AButtonOfAFormStaysWithoutText) {
  Sheet sheet;
  sheet.put(50, 100, "I agree.");
  EXPECT_EQ(with_boxes(sheet, {{{300, 300, 310, 310}, true, true}}), "I agree.\n\n[x]");
}

TEST(CheckBoxes, BoxesForTheLettersOfAWordSayNothing) {
  Sheet sheet;
  sheet.put(50, 100, "Date of birth");
  std::vector<CheckBox> boxes;
  for (int i = 0; i < 8; ++i) {
    const float x = 150 + 14 * static_cast<float>(i);
    boxes.push_back({{x, 98, x + 11, 109}});
  }
  EXPECT_EQ(with_boxes(sheet, boxes), "Date of birth");
}

TEST(CheckBoxes, ABarBetweenTwoChoicesStays) {
  for (const bool recognised : {false, true}) {
    Sheet sheet(recognised);
    sheet.put(50, 100, "Yes").put(90, 100, "|").put(100, 100, "No");
    EXPECT_EQ(with_boxes(sheet, {{{72, 100, 82, 110}, true}, {{118, 100, 128, 110}, false}}),
              "Yes [x] | No [ ]");
  }
}

TEST(CheckBoxes, ABarAloneBesideABoxIsAnIOfARecogniser) {
  for (const bool recognised : {false, true}) {
    Sheet sheet(recognised);
    sheet.put(70, 100, "| accept the terms");
    EXPECT_EQ(with_boxes(sheet, {{{50, 100, 60, 110}, true}}),
              recognised ? "- [x] I accept the terms" : "- [x] | accept the terms");
  }
}

TEST(CheckBoxes, ASignInABoxTicksIt) {
  Sheet sheet;
  sheet.put(52, 100, "x").put(70, 100, "I accept the terms");
  EXPECT_EQ(with_boxes(sheet, {{{50, 99, 60, 111}, false}}), "- [x] I accept the terms");
}

TEST(CheckBoxes, AFrameAroundTextIsNone) {
  Sheet sheet;
  sheet.put(52, 100, "A").put(70, 100, "is the first key");
  EXPECT_EQ(with_boxes(sheet, {{{50, 99, 60, 111}, false}}), "A is the first key");
}

TEST(CheckBoxes, SignsOfATextLayerAreWrittenAlike) {
  EXPECT_EQ(with_plain_check_boxes("- ☐ open\n- ☑ done\n- ☒ dropped ✓"),
            "- [ ] open\n- [x] done\n- [x] dropped ✓");
  EXPECT_EQ(with_plain_check_boxes("☐(a) ☑[b] ☒: c"), "☐(a) ☑[b] ☒: c") << "no link and no definition";
  EXPECT_EQ(with_plain_check_boxes(""), "");
}

using host::Picture;

constexpr float kLetterSide = 12;

Picture white(int w, int h) {
  Picture picture(pixCreate(w, h, 8));
  pixSetAll(picture.get());
  return picture;
}

void rectangle(const Picture& to, int x, int y, int w, int h, int thick) {
  const auto black = [&](int left, int top, int across, int down) {
    pixRasterop(to.get(), left, top, across, down, PIX_CLR, nullptr, 0, 0);
  };
  black(x, y, w, thick);
  black(x, y + h - thick, w, thick);
  black(x, y, thick, h);
  black(x + w - thick, y, thick, h);
}

void ring(const Picture& to, int x, int y, float radius, float thick) {
  for (int dy = -20; dy <= 20; ++dy) {
    for (int dx = -20; dx <= 20; ++dx) {
      const float distance = std::hypot(static_cast<float>(dx), static_cast<float>(dy));
      if (distance <= radius && distance > radius - thick) pixSetPixel(to.get(), x + dx, y + dy, 0);
    }
  }
}

// Something as high and wide as a letter.
void letter(const Picture& to, int x, int y, int h) {
  for (int i = 0; i < h; ++i) pixSetPixel(to.get(), x + i / 2, y + i, 0);
  pixRasterop(to.get(), x, y + h / 2, h * 2 / 3, 2, PIX_CLR, nullptr, 0, 0);
}

int ink_of(const Picture& picture) {
  const Picture binary(pixConvertTo1(picture.get(), 128));
  l_int32 count = 0;
  pixCountPixels(binary.get(), &count, nullptr);
  return count;
}

TEST(HollowShapes, BoxesAndCirclesAreTakenOut) {
  const Picture page = white(300, 200);
  rectangle(page, 20, 20, 18, 18, 1);
  rectangle(page, 20, 60, 18, 18, 2);
  for (int i = 4; i < 14; ++i) pixSetPixel(page.get(), 20 + i, 60 + i, 0);
  ring(page, 30, 120, 10, 2);
  const auto boxes = host::take_shapes(page, kLetterSide).boxes;
  ASSERT_EQ(boxes.size(), 3U);
  EXPECT_FALSE(boxes[0].ticked);
  EXPECT_TRUE(boxes[1].ticked);
  EXPECT_FALSE(boxes[2].ticked);
  EXPECT_EQ(ink_of(page), 0);
}

TEST(HollowShapes, ALetterInABoxOrACircleMayBeRead) {
  const Picture page = white(300, 200);
  rectangle(page, 20, 20, 26, 26, 1);
  letter(page, 29, 26, 13);
  ring(page, 35, 90, 13, 2);
  letter(page, 32, 84, 12);
  rectangle(page, 20, 140, 26, 26, 1);
  for (int i = 0; i < 26; ++i) pixSetPixel(page.get(), 20 + i, 140 + i, 0);  // a stroke from side to side
  const host::TakenShapes taken = host::take_shapes(page, kLetterSide);
  ASSERT_EQ(taken.boxes.size(), 3U);
  ASSERT_EQ(taken.with_signs.size(), 2U);
  EXPECT_EQ(taken.with_signs[0].y0, 20);
  EXPECT_EQ(ink_of(page), 0);
  const auto erases = [&taken](float x, float y) {
    return std::ranges::any_of(
        taken.erased, [=](const Box& box) { return x > box.x0 && x < box.x1 && y > box.y0 && y < box.y1; });
  };
  EXPECT_TRUE(erases(21, 30) && erases(30, 21) && erases(35, 77.5F) && erases(33, 153));
  EXPECT_FALSE(erases(32, 32) || erases(35, 90)) << "a second look finds the letter";
}

TEST(HollowShapes, ADiscInABoxTicksIt) {
  const Picture page = white(300, 100);
  ring(page, 30, 30, 11, 2);
  ring(page, 30, 30, 5, 5);
  const host::TakenShapes taken = host::take_shapes(page, kLetterSide);
  ASSERT_EQ(taken.boxes.size(), 1U);
  EXPECT_TRUE(taken.boxes[0].ticked);
  EXPECT_TRUE(taken.with_signs.empty());
}

TEST(HollowShapes, ASquareThatFillsABoxTicksIt) {
  const Picture page = white(100, 100);
  rectangle(page, 20, 20, 20, 20, 1);
  pixRasterop(page.get(), 23, 23, 14, 14, PIX_CLR, nullptr, 0, 0);
  const host::TakenShapes taken = host::take_shapes(page, kLetterSide);
  ASSERT_EQ(taken.boxes.size(), 1U);
  EXPECT_TRUE(taken.boxes[0].ticked);
  EXPECT_TRUE(taken.with_signs.empty());
}

TEST(HollowShapes, ARoundLetterAmongOthersStays) {
  const Picture page = white(300, 100);
  ring(page, 30, 30, 8, 2);
  letter(page, 45, 22, 16);
  letter(page, 60, 22, 16);
  const int before = ink_of(page);
  EXPECT_TRUE(host::take_shapes(page, kLetterSide).boxes.empty());
  EXPECT_EQ(ink_of(page), before);
}

TEST(HollowShapes, ASquareLetterAmongOthersStays) {
  const Picture page = white(300, 100);
  for (int x = 20; x < 120; x += 16) rectangle(page, x, 20, 14, 14, 1);
  EXPECT_TRUE(host::take_shapes(page, kLetterSide).boxes.empty());
}

TEST(HollowShapes, TheFrameOfAFieldGoesAndItsTextStays) {
  const Picture page = white(400, 100);
  letter(page, 30, 30, 16);
  letter(page, 45, 30, 16);
  const int text = ink_of(page);
  rectangle(page, 20, 20, 300, 36, 2);
  EXPECT_TRUE(host::take_shapes(page, kLetterSide).boxes.empty());
  EXPECT_EQ(ink_of(page), text);
}

TEST(HollowShapes, TheCellsOfATableStay) {
  const Picture page = white(400, 100);
  rectangle(page, 20, 20, 150, 36, 2);
  rectangle(page, 168, 20, 150, 36, 2);
  const int before = ink_of(page);
  EXPECT_TRUE(host::take_shapes(page, kLetterSide).boxes.empty());
  EXPECT_EQ(ink_of(page), before);
}

TEST(HollowShapes, SolidBulletsAndEmptyPagesHaveNone) {
  const Picture page = white(100, 100);
  EXPECT_TRUE(host::take_shapes(page, kLetterSide).boxes.empty());
  pixRasterop(page.get(), 20, 20, 16, 16, PIX_CLR, nullptr, 0, 0);
  EXPECT_TRUE(host::take_shapes(page, kLetterSide).boxes.empty());
}

TEST(CheckBoxes, NoColumnEndsBetweenABoxAndItsText) {
  Sheet sheet;
  for (int i = 0; i < 4; ++i) {
    const float y = 100 + static_cast<float>(i) * kPitch;
    sheet.put(50, y, "Wheel").put(150, y, std::to_string(10 + i)).put(236, y, "in stock");
  }
  std::vector<CheckBox> boxes;
  for (int i = 0; i < 4; ++i) {
    const float y = 100 + static_cast<float>(i) * kPitch;
    boxes.push_back({{220, y, 229, y + 9}, i % 2 == 0});
  }
  EXPECT_NE(with_boxes(sheet, boxes).find("| Wheel | 11 | [ ] in stock |"), std::string::npos)
      << with_boxes(sheet, boxes);
}

TEST(HollowShapes, ASecondLookAtAPartOfThePageLacksThem) {
  host::Prepared page;
  page.upright = white(300, 100);
  rectangle(page.upright, 20, 20, 18, 18, 1);
  letter(page.upright, 60, 20, 12);
  letter(page.upright, 80, 20, 12);
  const int all = ink_of(page.upright);
  page.erased = {{18, 18, 40, 40}};
  const host::PagePart part = host::part_of(page, {0, 0, 300, 100}, 12);
  ASSERT_TRUE(part.gray);
  EXPECT_GT(ink_of(part.gray), 0);
  EXPECT_LE(ink_of(part.gray), all - 4 * 17);
}

}  // namespace
}  // namespace millrace::engines::check_boxes_test
