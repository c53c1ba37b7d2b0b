#include "ai/engines/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

constexpr float kPitch = 13;
constexpr float kLetters = 10;
constexpr float kCharacter = 5;  // width of one, and of a space

// A page of 600 × 800 points on which lines are put word by word.
class Sheet {
 public:
  explicit Sheet(bool recognised = false) {
    page_.width = 600;
    page_.height = 800;
    page_.recognised = recognised;
    page_.index = 1;
  }
  Sheet& first_page() {
    page_.index = 0;
    return *this;
  }
  // Words of `text` from (x, y) on; gives the sheet back.
  Sheet& put(float x, float y, const std::string& text, bool bold = false, float size = 1) {
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::string word = text.substr(at, end - at);
      const float width = kCharacter * size * static_cast<float>(word.size());
      if (!word.empty()) page_.words.push_back({{x, y, x + width, y + kLetters * size}, word, bold, false});
      x += width + kCharacter * size;
      at = end + 1;
    }
    return *this;
  }
  // Lines one pitch apart.
  Sheet& lines(float x, float y, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      put(x, y, text);
      y += kPitch;
    }
    return *this;
  }
  Sheet& figure(const Box& box, const std::string& text) {
    page_.words.push_back({box, text, false, true});
    return *this;
  }
  std::string markdown() const { return markdown_of(page_); }

 private:
  PageText page_;
};

const std::vector<std::string> kProse{"The gateway accepts every document once and keeps its result until",
                                      "someone reads it while workers share the pages between them so that",
                                      "a long report is finished sooner than one process could do it alone"};

TEST(Layout, AnEmptyPageIsEmpty) { EXPECT_EQ(Sheet().markdown(), ""); }

TEST(Layout, LinesOfAParagraphAreJoined) {
  EXPECT_EQ(Sheet().lines(50, 100, kProse).markdown(), kProse[0] + " " + kProse[1] + " " + kProse[2]);
}

TEST(Layout, AHyphenBetweenLowerCaseHalvesIsHealed) {
  const std::string text =
      Sheet().lines(50, 100, {"It needs recog-", "nition of a non-", "German text by an"}).markdown();
  EXPECT_EQ(text, "It needs recognition of a non-German text by an");
}

TEST(Layout, AWideGapBeginsAParagraph) {
  EXPECT_EQ(Sheet()
                .lines(50, 100, kProse)
                .lines(50, 100 + 4.5F * kPitch, {"Another one begins here and it"})
                .markdown(),
            kProse[0] + " " + kProse[1] + " " + kProse[2] + "\n\nAnother one begins here and it");
}

TEST(Layout, AnIndentedLineBeginsAParagraph) {
  const std::string text = Sheet()
                               .lines(50, 100, kProse)
                               .lines(70, 139, {"indented words"})
                               .lines(50, 152, {"and back"})
                               .markdown();
  EXPECT_EQ(text, kProse[0] + " " + kProse[1] + " " + kProse[2] + "\n\nindented words and back");
}

TEST(Layout, AShortLineThatEndsASentenceEndsItsParagraph) {
  EXPECT_EQ(Sheet().lines(50, 100, {kProse[0], "ends here.", kProse[1]}).markdown(),
            kProse[0] + " ends here.\n\n" + kProse[1]);
}

TEST(Layout, LargeLettersAreAHeadingWithALevelByTheirSize) {
  Sheet sheet;
  sheet.put(50, 100, "Great Title", false, 1.8F).lines(50, 140, kProse);
  sheet.put(50, 200, "Lesser Title", false, 1.3F).lines(50, 222, kProse);
  const std::string text = sheet.markdown();
  EXPECT_TRUE(text.starts_with("# Great Title\n\nThe gateway")) << text;
  EXPECT_NE(text.find("alone\n\n## Lesser Title\n\nThe gateway"), std::string::npos) << text;
}

TEST(Layout, ABoldShortLineIsAHeadingAndABoldSentenceIsNot) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).put(50, 160, "Bold Words", true).lines(50, 176, kProse);
  sheet.put(50, 240, "A bold warning ends with a stop.", true).lines(50, 256, kProse);
  const std::string text = sheet.markdown();
  EXPECT_NE(text.find("\n\n### Bold Words\n\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("# A bold"), std::string::npos) << text;
}

TEST(Layout, ASectionNumberGivesTheLevel) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).put(50, 160, "2.1. The Second Part", true).lines(50, 176, kProse);
  EXPECT_NE(sheet.markdown().find("\n\n## 2.1. The Second Part\n\n"), std::string::npos) << sheet.markdown();
}

TEST(Layout, AHeadingOfTwoLinesIsOne) {
  Sheet sheet;
  sheet.put(50, 100, "A Title That Goes", false, 1.5F)
      .put(50, 119, "Over Two Lines", false, 1.5F)
      .lines(50, 150, kProse);
  EXPECT_TRUE(sheet.markdown().starts_with("## A Title That Goes Over Two Lines\n\n")) << sheet.markdown();
}

TEST(Layout, ACentredLineOnTopOfTheFirstPageIsItsTitle) {
  Sheet sheet(true);
  sheet.first_page().put(178, 60, "A Study of Queues").lines(50, 100, kProse);
  EXPECT_TRUE(sheet.markdown().starts_with("# A Study of Queues\n\n")) << sheet.markdown();
}

TEST(Layout, BulletsAreItemsAndTheirLinesAreJoined) {
  Sheet sheet;
  sheet.lines(50, 100, {"• first of them goes over", "  two lines", "• second"});
  EXPECT_EQ(sheet.markdown(), "- first of them goes over two lines\n- second");
}

TEST(Layout, AMisreadBulletIsABulletOnlyInFrontOfAGap) {
  Sheet wide(true);
  wide.put(50, 100, "e").put(70, 100, "read as a letter").put(50, 113, "¢").put(70, 113, "read as money");
  EXPECT_EQ(wide.markdown(), "- read as a letter\n- read as money");
  EXPECT_EQ(Sheet(true).put(50, 100, "e is a number").markdown(), "e is a number");
}

TEST(Layout, MarksThatStandBelowEachOtherAreBulletsWithoutAGap) {
  Sheet sheet(true);
  sheet.lines(50, 100, {"« first of them", ". second of them", "* third of them"});
  EXPECT_EQ(sheet.markdown(), "- first of them\n- second of them\n- third of them");
  EXPECT_EQ(Sheet(true).put(50, 100, "« quoted » alone").markdown(), "« quoted » alone");
  EXPECT_EQ(Sheet(true).lines(50, 100, {"e cosi via", "e cosi sia"}).markdown(), "e cosi via e cosi sia");
}

TEST(Layout, AnItemIsNoHeadingHoweverLargeItsLettersSeem) {
  Sheet sheet(true);
  sheet.lines(50, 100, kProse).put(50, 170, "• an item of a list", false, 1.5F);
  EXPECT_THAT(sheet.markdown(), ::testing::EndsWith("\n\n- an item of a list"));
}

TEST(Layout, WordsOfAScriptWithoutSpacesAreJoinedUnlessTheyStandApart) {
  Sheet near(true);
  near.put(50, 100, "設備").put(81, 100, "点検。").put(128, 100, "来月");
  EXPECT_EQ(near.markdown(), "設備点検。来月");
  EXPECT_EQ(Sheet(true).put(50, 100, "氏名").put(100, 100, "山田").markdown(), "氏名 山田");
  EXPECT_EQ(Sheet(true).put(50, 100, "設備").put(81, 100, "is").markdown(), "設備 is");
}

TEST(Layout, NumberedItemsKeepTheirNumbers) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  for (int i = 1; i <= 3; ++i) {
    const float y = 150 + kPitch * static_cast<float>(i);
    sheet.put(50, y, std::to_string(i) + ")").put(75, y, "point and more");
  }
  EXPECT_NE(sheet.markdown().find("\n\n1. point and more\n2. point and more\n3. point"), std::string::npos)
      << sheet.markdown();
}

TEST(Layout, ItemsInItemsAreIndented) {
  Sheet sheet;
  sheet.put(50, 100, "• outer item")
      .put(80, 113, "– inner item")
      .put(80, 126, "– inner again")
      .put(50, 139, "• outer");
  EXPECT_EQ(sheet.markdown(), "- outer item\n   - inner item\n   - inner again\n- outer");
}

TEST(Layout, RowsWithWhiteRiversAreATable) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  const std::vector<std::vector<std::string>> rows{
      {"Name", "Count", "Share"}, {"red apples", "12", "3.5 %"}, {"pears", "7", "a|b"}};
  float y = 160;
  for (const auto& row : rows) {
    sheet.put(100, y, row[0]).put(250, y, row[1]).put(350, y, row[2]);
    y += kPitch;
  }
  sheet.lines(50, y + 20, kProse);
  EXPECT_NE(sheet.markdown().find(
                "alone\n\n| Name | Count | Share |\n| --- | --- | --- |\n| red apples | 12 | 3.5 % |\n"
                "| pears | 7 | a\\|b |\n\nThe gateway"),
            std::string::npos)
      << sheet.markdown();
}

TEST(Layout, ALineOfProseWithAWideGapAfterATableIsNotOfIt) {
  Sheet sheet;
  float y = 100;
  for (const std::string name : {"one", "two", "three", "four"}) {
    sheet.put(100, y, name).put(250, y, "12").put(350, y, "77");
    y += kPitch;
  }
  sheet.put(50, y + 10, "prose that begins here and goes on")
      .put(260, y + 10, "over the gap in it and far on");
  EXPECT_TRUE(sheet.markdown().ends_with(
      "| four | 12 | 77 |\n\nprose that begins here and goes on over the gap in it "
      "and far on"))
      << sheet.markdown();
}

TEST(Layout, AnEmptyCellStaysEmpty) {
  Sheet sheet;
  sheet.put(100, 100, "a").put(250, 100, "b").put(350, 100, "c");
  sheet.put(100, 113, "d").put(350, 113, "f");
  sheet.put(100, 126, "g").put(250, 126, "h").put(350, 126, "i");
  EXPECT_EQ(sheet.markdown(), "| a | b | c |\n| --- | --- | --- |\n| d |  | f |\n| g | h | i |");
}

TEST(Layout, TwoColumnsAreReadOneAfterTheOtherUnderTheirHeading) {
  Sheet sheet;
  sheet.put(150, 60, "A Title Over Both Columns", false, 1.6F);
  std::string left;
  std::string right;
  for (int i = 0; i < 8; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    const std::string number = std::to_string(i);
    sheet.put(50, y, "left words of the line number " + number)
        .put(320, y + 4, "right words of the line number " + number);
    left += (i > 0 ? " " : "") + ("left words of the line number " + number);
    right += (i > 0 ? " " : "") + ("right words of the line number " + number);
  }
  sheet.put(50, 260, "A full line below both of the columns that crosses the gutter of the page and");
  const std::string text = sheet.markdown();
  EXPECT_NE(text.find("# A Title Over Both Columns\n\n" + left), std::string::npos) << text;
  EXPECT_NE(text.find(right), std::string::npos) << text;
  EXPECT_LT(text.find(left), text.find(right));
  EXPECT_LT(text.find("right words"), text.find("A full line below"));
}

TEST(Layout, AParagraphRunsOnFromColumnToColumn) {
  Sheet sheet;
  for (int i = 0; i < 6; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    sheet.put(50, y, "these words go on and on").put(320, y, "those words go on and on");
  }
  EXPECT_EQ(sheet.markdown().find('\n'), std::string::npos) << sheet.markdown();
}

TEST(Layout, ALonePageNumberIsLeftOut) {
  for (const std::string number : {"7", "- 7 -", "Page 7", "7 / 12", "7 of 12", "xii"}) {
    EXPECT_EQ(Sheet().lines(50, 100, kProse).put(290, 770, number).markdown().find(number), std::string::npos)
        << number;
  }
  EXPECT_NE(Sheet().lines(50, 100, kProse).put(290, 770, "Seven").markdown().find("Seven"),
            std::string::npos);
}

TEST(Layout, ANumberThatIsAllThatAPageSaysIsKept) {
  EXPECT_EQ(Sheet().put(290, 770, "4711").markdown(), "4711");
}

TEST(Layout, AFigureStandsWhereItIs) {
  Sheet sheet;
  sheet.lines(50, 100, kProse).figure({50, 160, 300, 260}, "![img](img)").lines(50, 280, kProse);
  EXPECT_NE(sheet.markdown().find("alone\n\n![img](img)\n\nThe gateway"), std::string::npos)
      << sheet.markdown();
}

TEST(Layout, TextThatLooksLikeMarkupIsEscaped) {
  EXPECT_EQ(Sheet().put(50, 100, "# no heading").markdown(), "\\# no heading");
}

TEST(Layout, WhatWouldReadAsMarkupAtTheBeginningOfALineIsEscaped) {
  for (const std::string text : {"```", "~~~ text", "---", "====", "+ plus", "***", "|", "> quoted"}) {
    EXPECT_EQ(Sheet().put(50, 100, text).markdown(), "\\" + text);
  }
  for (const std::string text : {"-5 degrees", "+49 30 1234", "a --- b", "~ten"}) {
    EXPECT_EQ(Sheet().put(50, 100, text).markdown(), text);
  }
}

TEST(Layout, TagsOfHtmlAreEscapedWhereverTheyStand) {
  EXPECT_EQ(Sheet().put(50, 100, "see <b>this</b> and <!-- that").markdown(),
            "see \\<b>this\\</b> and \\<!-- that");
  EXPECT_EQ(Sheet().put(50, 100, "a < b <= c <3 <https://mill.example>").markdown(),
            "a < b <= c <3 <https://mill.example>");
}

TEST(Layout, SoftHyphensWithinALineAreLeftOut) {
  EXPECT_EQ(Sheet().put(50, 100, "soft\u00adhyphen and more\u00ad").markdown(), "softhyphen and more");
}

TEST(Layout, ItemsAreKnownByTheNumbersThatFollowEachOther) {
  EXPECT_EQ(Sheet().lines(50, 100, {"1. one thing", "2. two things", "3. three"}).markdown(),
            "1. one thing\n2. two things\n3. three");
  EXPECT_EQ(Sheet().lines(50, 100, {"a) one thing", "b) two things"}).markdown(),
            "a) one thing\nb) two things");
  Sheet wrapped;
  wrapped.lines(50, 100, {"(1) one thing that goes on", "    over this line", "(2) two"});
  EXPECT_EQ(wrapped.markdown(), "1. one thing that goes on over this line\n2. two");
}

TEST(Layout, ALineOfProseThatBeginsWithANumberIsNoItem) {
  const std::string line = "3. and that is all there is about it but for a number that ends its line";
  EXPECT_EQ(Sheet().lines(50, 100, {kProse[0], line, kProse[1]}).markdown(),
            kProse[0] + " " + line + " " + kProse[1]);
}

TEST(Layout, LinesThatEndOnPurposeAreKept) {
  EXPECT_EQ(Sheet().lines(50, 100, {"Date: 2026-11-23", "Customer: 998", "Total: 12.00 EUR"}).markdown(),
            "Date: 2026-11-23  \nCustomer: 998  \nTotal: 12.00 EUR");
}

TEST(Layout, NarrowLinesOfRunningTextAreJoined) {
  EXPECT_EQ(Sheet()
                .lines(50, 100, {"This text was set in a", "Narrow column, and it", "goes on and on"})
                .markdown(),
            "This text was set in a Narrow column, and it goes on and on");
}

// Puts a row of cells, their columns `step` apart.
void put_cells(Sheet& sheet, float y, float step, const std::vector<std::string>& cells) {
  float x = 50;
  for (const std::string& cell : cells) {
    sheet.put(x, y, cell);
    x += step;
  }
}

TEST(Layout, ATableOfManyWordsIsNotCutIntoColumns) {
  Sheet sheet;
  for (int i = 0; i < 6; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    put_cells(sheet, y, 180,
              {"A long description of it", "and a remark on that", std::to_string(i) + ".00 EUR"});
  }
  EXPECT_TRUE(sheet.markdown().ends_with("\n| A long description of it | and a remark on that | 5.00 EUR |"))
      << sheet.markdown();
}

TEST(Layout, ATableOfEvenColumnsIsOneTable) {
  for (const float pitch : {kPitch, 1.8F * kPitch, 3 * kPitch}) {
    Sheet sheet;
    for (int i = 0; i < 5; ++i) {
      put_cells(sheet, 100 + pitch * static_cast<float>(i), 130,
                {"one cell", "two cell", "red cell", "blue cell"});
    }
    EXPECT_TRUE(sheet.markdown().starts_with("| one cell | two cell | red cell | blue cell |\n| --- |"))
        << pitch << sheet.markdown();
    EXPECT_EQ(sheet.markdown().find("\n\n"), std::string::npos) << pitch << sheet.markdown();
  }
}

TEST(Layout, ACellOfTwoLinesIsOne) {
  Sheet sheet;
  for (int i = 0; i < 4; ++i) {
    put_cells(sheet, 100 + 30 * static_cast<float>(i), 130, {"name", "value", "share"});
  }
  sheet.put(180, 142, "goes on");
  EXPECT_NE(sheet.markdown().find("| name | value goes on | share |\n| name | value | share |"),
            std::string::npos)
      << sheet.markdown();
}

TEST(Layout, ColumnsWithTablesAmongTheirProseStayColumns) {
  Sheet sheet;
  for (int i = 0; i < 20; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    for (const float x : {50.0F, 330.0F}) {
      if (i % 10 < 4) sheet.put(x, y, "some words that fill a line of one column and");
      if (i % 10 >= 4) sheet.put(x + 40, y, "Case").put(x + 90, y, "12").put(x + 130, y, "3.5");
    }
  }
  const std::string text = sheet.markdown();
  std::size_t tables = 0;
  for (std::size_t at = 0;
       (at = text.find("| Case | 12 | 3.5 |\n| --- | --- | --- |", at)) != std::string::npos; ++at)
    ++tables;
  EXPECT_EQ(tables, 4U) << text;
}

TEST(Layout, ColumnsOfReferencesOnTheSameLinesStayColumns) {
  Sheet sheet;
  for (int i = 0; i < 12; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    if (i % 3 == 0)
      sheet.put(50, y, "[" + std::to_string(i) + "]").put(330, y, "[" + std::to_string(90 + i) + "]");
    sheet.put(75, y, "left words that fill their line and");
    sheet.put(355, y, "right words that fill the line and");
  }
  const std::string text = sheet.markdown();
  EXPECT_EQ(text.find('|'), std::string::npos) << text;
  EXPECT_GT(text.find("right words"), text.rfind("left words")) << text;
}

TEST(Layout, HostileBoxesDoNoHarm) {
  PageText page;
  page.width = page.height = 1;
  for (int i = 0; i < 3000; ++i) {
    const auto x = static_cast<float>(i);
    page.words.push_back({{x, 0, x * 1e30F, 1e-30F}, "w", false, false});
    page.words.push_back({{-x, -x, x, x + 1}, "v", false, false});
  }
  page.words.push_back({{0, 0, std::numeric_limits<float>::quiet_NaN(), 1}, "n", false, false});
  EXPECT_FALSE(markdown_of(page).empty());
}

}  // namespace
}  // namespace millrace::engines
