#include "ai/engines/layout/direction.h"

#include <limits>

#include <gtest/gtest.h>

#include "ai/engines/layout/bbox_xml.h"
#include "ai/engines/layout/layout.h"

namespace millrace::engines {
namespace {

std::string read(std::string word) {
  set_in_reading_order(word);
  return word;
}

// A line as pdftotext writes it: each word is 10 letters high and `advance` away from the previous one.
struct Line {
  Box first;
  float advance_x = 0, advance_y = 0;
  std::vector<std::string> words;
};

PageText page_of(const std::vector<Line>& lines) {
  std::string xml = "<page width=\"600\" height=\"800\">";
  for (const Line& line : lines) {
    xml += "<line xMin=\"0\" yMin=\"0\" xMax=\"1\" yMax=\"1\">";
    Box box = line.first;
    for (const std::string& word : line.words) {
      xml += "<word xMin=\"" + std::to_string(box.x0) + "\" yMin=\"" + std::to_string(box.y0) + "\" xMax=\"" +
             std::to_string(box.x1) + "\" yMax=\"" + std::to_string(box.y1) + "\">" + word + "</word>";
      box = {box.x0 + line.advance_x, box.y0 + line.advance_y, box.x1 + line.advance_x,
             box.y1 + line.advance_y};
    }
    xml += "</line>";
  }
  BboxReader reader;
  reader.feed(xml + "</page>");
  return reader.next().value_or(PageText{});
}

TEST(Direction, WordsFromRightToLeftAreReadFromTheirRightEnd) {
  EXPECT_EQ(read("םולש"), "שלום");
  EXPECT_EQ(read("ابحرم"), "مرحبا");
  EXPECT_EQ(read(":ריחמ"), "מחיר:");
}

TEST(Direction, NumbersAndLatinLettersInThemKeepTheirOrder) {
  EXPECT_EQ(read("120-ב"), "ב-120");
  EXPECT_EQ(read("3.50ב"), "ב3.50");
  EXPECT_EQ(read("PDF-ה"), "ה-PDF");
}

TEST(Direction, BracketsAreMirrored) { EXPECT_EQ(read("(םולש)"), "(שלום)"); }

TEST(Direction, MarksStayOnTheirLetters) { EXPECT_EQ(read("בָא"), "אבָ"); }

TEST(Direction, OtherWordsAreLeftAlone) {
  for (std::string word : {"plain", "Größe", "глава", "文章", "\xFF\xFE", "120", ""}) {
    const std::string before = word;
    EXPECT_FALSE(set_in_reading_order(word));
    EXPECT_EQ(word, before);
  }
}

TEST(Direction, RowsFromRightToLeftAreReadFromTheRight) {
  const PageText page = page_of({{{100, 100, 130, 110}, 40, 0, {"דבלב", "םילקש", "120", ":ריחמ"}}});
  EXPECT_EQ(markdown_of(page), "מחיר: 120 שקלים בלבד");
}

TEST(Direction, LatinWordsInARowFromRightToLeftStayInOrder) {
  const PageText page =
      page_of({{{100, 100, 130, 110}, 35, 0, {"ןאכ", "Open", "Source", "10", "תסרג", "לש"}}});
  EXPECT_EQ(markdown_of(page), "של גרסת Open Source 10 כאן");
}

TEST(Direction, HebrewWordsInALatinRowAreReadInTheirOrder) {
  const PageText page =
      page_of({{{100, 100, 130, 110}, 35, 0, {"They", "said", "םלוע", "םולש", "to", "us"}}});
  EXPECT_EQ(markdown_of(page), "They said שלום עולם to us");
}

TEST(Direction, TextThatIsTurnedIsReadUpright) {
  const std::vector<std::string> one{"line", "one", "that", "goes", "on"};
  const std::vector<std::string> two{"and", "line", "two", "here"};
  const std::string text = "line one that goes on and line two here";
  EXPECT_EQ(markdown_of(page_of({{{200, 500, 210, 525}, 0, -30, one}, {{213, 500, 223, 525}, 0, -30, two}})),
            text);
  EXPECT_EQ(markdown_of(page_of({{{400, 100, 410, 125}, 0, 30, one}, {{387, 100, 397, 125}, 0, 30, two}})),
            text);
  EXPECT_EQ(markdown_of(page_of({{{400, 500, 425, 510}, -30, 0, one}, {{400, 487, 425, 497}, -30, 0, two}})),
            text);
}

TEST(Direction, ATurnedTableBelowAnUprightLineIsATable) {
  std::vector<Line> lines{{{50, 40, 75, 50}, 30, 0, {"See", "the", "table"}}};
  const std::vector<std::vector<std::string>> rows{{"Item", "Count"}, {"Flour", "7"}, {"Barley", "12"}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float x = 200 + 14 * static_cast<float>(i);
    lines.push_back({{x, 570, x + 10, 600}, 0, 0, {rows[i][0]}});
    const float height = 6 * static_cast<float>(rows[i][1].size());
    lines.push_back({{x, 450 - height, x + 10, 450}, 0, 0, {rows[i][1]}});
  }
  EXPECT_EQ(markdown_of(page_of(lines)),
            "See the table\n\n| Item | Count |\n| --- | --- |\n| Flour | 7 |\n| Barley | 12 |");
}

TEST(Direction, LigaturesAreTheirLetters) {
  EXPECT_EQ(markdown_of(page_of({{{50, 40, 75, 50}, 30, 0, {"\uFB01nal", "of\uFB01ce", "\uFB06"}}})),
            "final office st");
}

TEST(Direction, BytesTooManyInALetterDoNoHarm) {
  for (const std::string word : {"\xD7\x90\x80\x80", "\xD7\x90\x80\x80\xD7", "\x80\xD7\x90\x80\x80"}) {
    EXPECT_EQ(read(word).size(), word.size());
  }
}

TEST(Direction, HostileWordsDoNoHarm) {
  PageText page;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::size_t> lines;
  for (int i = 0; i < 2000; ++i) {
    const auto x = static_cast<float>(i);
    if (i % 3 != 1) lines.push_back(page.words.size());
    page.words.push_back({{x * 1e30F, -x, nan, x}, "abc", false, false});
    page.words.back().leftwards = i % 2 == 0;
    page.words.push_back({{x, 0, x, 9}, "\xD7", false, false});
  }
  mark_orientations(page.words, lines);
  mark_orientations(page.words, {});
  EXPECT_FALSE(plain_pages(page).empty());
}

}  // namespace
}  // namespace millrace::engines
