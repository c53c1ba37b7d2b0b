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

TEST(Direction, PresentationFormsAreTheirLetters) {
  EXPECT_EQ(read("\uFEE1\uFEFC\uFEB3"), "سلام") << "forms and a ligature, as they stand on the page";
  EXPECT_EQ(read("\u0645\uFEFB\u0633"), "سلام") << "a ligature among letters";
  EXPECT_EQ(read("\uFB94\uFBFF"), "یگ") << "Persian";
  EXPECT_EQ(read("\uFDF2"), "الله");
  EXPECT_EQ(read("\u05DD\u05D5\u05DC\uFB2A"), "שׁלום");
  EXPECT_EQ(read("(\uFEE1\uFEFC\uFEB3)"), "(سلام)");
}

TEST(Direction, ALigatureGivenAsTwoLettersAmongFormsIsNotTurned) {
  EXPECT_EQ(read("\uFEE1\u0644\u0627\uFEB3"), "سلام");
}

std::string words_of_line(const std::vector<std::string>& words) {
  PageText page = page_of({{{50, 100, 80, 110}, 40, 0, words}});
  std::string text;
  for (const Word& word : page.words) text += (text.empty() ? "" : " ") + word.text;
  return text;
}

// As a page gives them: each word from its left end, the ligature's letters in reading order.
TEST(Direction, LamAlefIsMendedWhereThePageShowsThatItWasTurned) {
  EXPECT_EQ(words_of_line({"ملاس", "لا", "باتكلا"}), "سلام لا الكتاب");
  EXPECT_EQ(words_of_line({"ملاس", "لا", "ةيبرعلاب"}), "سلام لا بالعربية") << "an article behind a prefix";
}

TEST(Direction, WordsWithAlefAndLamStayWhereNothingWasTurned) {
  EXPECT_EQ(words_of_line({"لاق", "لاح"}), "قال حال");
  EXPECT_EQ(words_of_line({"لاق", "مالس", "ال"}), "قال سلام لا");
}

std::string markdown_of_letters(const std::vector<std::string>& letters, int in_line, Box first,
                                float to_next, float to_line, bool down) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto along = static_cast<float>(static_cast<int>(i) % in_line) * to_next;
    const auto line = static_cast<float>(static_cast<int>(i) / in_line) * to_line;
    const float x = down ? -line : along, y = down ? along : line;
    lines.push_back({{first.x0 + x, first.y0 + y, first.x1 + x, first.y1 + y}, 0, 0, {letters[i]}});
  }
  return markdown_of(page_of(lines));
}

const std::vector<std::string> kJapanese{"日", "本", "語", "の", "文", "章", "は", "縦",
                                         "に", "書", "く", "。", "右", "か", "ら", "左",
                                         "へ", "読", "む", "物", "で", "有", "る", "。"};
const std::string kJapaneseText = "日本語の文章は縦に書く。右から左へ読む物で有る。";

TEST(Direction, LettersBelowEachOtherAreAColumn) {
  EXPECT_EQ(markdown_of_letters(kJapanese, 12, {500, 60, 512, 72}, 14, 24, true), kJapaneseText);
  EXPECT_EQ(markdown_of_letters(kJapanese, 6, {500, 60, 512, 72}, 12, 20, true), kJapaneseText);
}

TEST(Direction, LettersBesideEachOtherAreALine) {
  EXPECT_EQ(markdown_of_letters(kJapanese, 12, {60, 60, 72, 72}, 13, 20, false), kJapaneseText);
}

TEST(Direction, AHeadAcrossStandsBeforeItsColumns) {
  std::vector<Line> lines{{{60, 20, 200, 32}, 0, 0, {"日本語の縦書き"}}};
  for (int i = 0; i < 12; ++i) {
    const float y = 60 + 14 * static_cast<float>(i);
    lines.push_back({{500, y, 512, y + 12}, 0, 0, {kJapanese[static_cast<std::size_t>(i)]}});
  }
  EXPECT_EQ(markdown_of(page_of(lines)), "日本語の縦書き\n\n日本語の文章は縦に書く。");
}

TEST(Direction, DigitsInAColumnStayInIt) {
  std::vector<std::string> letters = kJapanese;
  letters[7] = "12";
  EXPECT_EQ(markdown_of_letters(letters, 12, {500, 60, 512, 72}, 14, 24, true).find("日本語の文章は"), 0U);
}

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
