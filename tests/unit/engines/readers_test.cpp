#include <algorithm>
#include <cmath>
#include <csignal>

#include <gtest/gtest.h>

#include "ai/engines/layout/bbox_xml.h"
#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/unreadable.h"
#include "ai/engines/ocr/document.h"

namespace millrace::engines {
namespace {

using base::Code;

const std::string kPage =
    "<page width=\"595.000000\" height=\"842.000000\">\n<flow><block xMin=\"1\"><line xMin=\"2\">\n"
    "<word xMin=\"72.5\" yMin=\"10.25\" xMax=\"90\" yMax=\"20\">A&amp;B&lt;&#x20ac;</word>\n"
    "<word xMin=\"92\" yMin=\"10\" xMax=\"99\" "
    "yMax=\"20\">caf\xc3\xa9</word>\n</line></block></flow></page>\n";

TEST(BboxReader, GivesTheWordsOfEachPage) {
  BboxReader reader;
  reader.feed("<html><head><meta name=\"a\"/></head><body><doc>\n" + kPage + kPage);
  auto page = reader.next();
  ASSERT_TRUE(page);
  EXPECT_EQ(page->width, 595);
  ASSERT_EQ(page->words.size(), 2U);
  EXPECT_EQ(page->words[0].text, "A&B<\u20ac");
  EXPECT_EQ(page->words[0].box.x0, 72.5F);
  EXPECT_EQ(page->words[0].box.y0, 10.25F);
  EXPECT_EQ(page->words[1].text, "caf\u00e9");
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
}

TEST(BboxReader, PiecesMayBeCutAnywhere) {
  BboxReader reader;
  std::size_t pages = 0;
  for (const char c : kPage + kPage + kPage) {
    reader.feed({&c, 1});
    while (auto page = reader.next()) pages += page->words.size() == 2 ? 1U : 0U;
  }
  EXPECT_EQ(pages, 3U);
}

TEST(BboxReader, BrokenXmlGivesFewerWordsAndNoHarm) {
  for (const std::string xml :
       {"<page <word xMin=\"1\"></page>", "</page>", "<page width=\"x\"><word>a</word></page>",
        "<page><word xMin=\"1e999\">&#xffffffff;&nonsense;</word></page>"}) {
    BboxReader reader;
    reader.feed(xml);
    EXPECT_TRUE(reader.next()) << xml;
  }
}

// On a page of 1e9 points, 10 points are less than the floating-point precision.
TEST(BboxReader, NoWordIsLostForItsBox) {
  const auto box_of = [](const std::string& x0, const std::string& y0, const std::string& x1,
                         const std::string& y1) {
    BboxReader reader;
    reader.feed("<page width=\"600\"><word xMin=\"" + x0 + "\" yMin=\"" + y0 + "\" xMax=\"" + x1 +
                "\" yMax=\"" + y1 + "\">a</word></page>");
    return reader.next().value().words.at(0).box;
  };
  const Box far = box_of("72", "999999000", "90", "999999010");
  EXPECT_GT(far.y1, far.y0);
  const Box inverted = box_of("90", "20", "72", "10");
  EXPECT_TRUE(inverted.x0 == 72 && inverted.y0 == 10 && inverted.x1 == 90 && inverted.y1 == 20);
  const Box wild = box_of("nan", "-inf", "inf", "nan");
  EXPECT_TRUE(std::isfinite(wild.width()) && std::isfinite(wild.height()));
}

// A page with one line of words. Each is its left and right side, its top and bottom, its text.
struct Piece {
  float x0, x1, y0, y1;
  std::string text;
};

PageText page_with(const std::vector<Piece>& pieces) {
  std::string xml = "<page width=\"595\" height=\"842\"><line xMin=\"0\" yMin=\"0\" xMax=\"0\" yMax=\"0\">\n";
  for (const Piece& piece : pieces) {
    xml += "<word xMin=\"" + std::to_string(piece.x0) + "\" yMin=\"" + std::to_string(piece.y0) +
           "\" xMax=\"" + std::to_string(piece.x1) + "\" yMax=\"" + std::to_string(piece.y1) + "\">" +
           piece.text + "</word>\n";
  }
  BboxReader reader;
  reader.feed(xml + "</line></page>");
  return reader.next().value();
}

std::vector<std::string> texts_of(const std::vector<Piece>& pieces) {
  std::vector<std::string> texts;
  for (const Word& word : page_with(pieces).words) texts.push_back(word.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(BboxReader, PiecesThatTouchAreOneWord) {
  const PageText small_capitals = page_with({{60, 64.13F, 69, 85.3F, "I"},
                                             {64.13F, 146.4F, 71.8F, 84.6F, "NTRODUCTION"},
                                             {149.9F, 165.3F, 71.8F, 84.6F, "TO"}});
  ASSERT_EQ(small_capitals.words.size(), 2U);
  EXPECT_EQ(small_capitals.words[0].text, "INTRODUCTION");
  EXPECT_EQ(small_capitals.words[0].box.x1, 146.4F);
  EXPECT_EQ(small_capitals.words[0].box.y0, 69);
  EXPECT_EQ(texts_of({{60, 75, 10, 20, "loa"}, {75, 86, 10, 20, "ns"}, {90, 95, 10, 20, "a"}}),
            (Texts{"loans", "a"}));
  EXPECT_EQ(texts_of({{60, 68, 10, 20, "H"}, {68, 72, 14, 21, "2"}, {72, 80, 10, 20, "O"}}), Texts{"H2O"});
  EXPECT_EQ(texts_of({{60, 90, 10, 20, "Verzwei\uFB02"}, {90, 110, 10, 20, "ung."}}), Texts{"Verzweiflung."});
}

TEST(BboxReader, AFractionIsOneWord) {
  EXPECT_EQ(texts_of({{60, 64, 10, 17, "1"}, {64, 66, 10, 22, "\u2044"}, {66, 70, 15, 22, "4"}}),
            Texts{"1/4"});
  EXPECT_EQ(
      texts_of(
          {{54, 60, 10, 22, "1"}, {60, 64, 10, 17, "1"}, {64, 66, 10, 22, "\u2044"}, {66, 70, 15, 22, "2"}}),
      (Texts{"1", "1/2"}));
}

TEST(BboxReader, NumbersThatTouchStayTwo) {
  EXPECT_EQ(texts_of({{60, 80, 10, 20, "5,306"}, {80, 84, 9, 15, "1"}}), (Texts{"5,306", "1"}));
  EXPECT_EQ(texts_of({{60, 80, 10, 20, "1,300"}, {80, 100, 10, 20, "2,400"}}), (Texts{"1,300", "2,400"}));
}

TEST(BboxReader, WordsWithABlankBetweenThemAndMarksOfItemsStayApart) {
  EXPECT_EQ(texts_of({{60, 75, 10, 20, "two"}, {76, 90, 10, 20, "words"}}), (Texts{"two", "words"}));
  EXPECT_EQ(texts_of({{60, 64, 10, 20, "•"}, {64, 90, 10, 20, "item"}}), (Texts{"•", "item"}));
  EXPECT_EQ(texts_of({{60, 80, 10, 20, "text"}, {80, 90, 20, 30, "below"}}), (Texts{"text", "below"}));
}

TEST(BboxReader, AControlCharacterPartsWords) {
  const PageText page = page_with({{60, 100, 10, 20, "All\x01rights&#3;\x1freserved"}});
  ASSERT_EQ(page.words.size(), 3U);
  EXPECT_EQ(page.words[1].text, "rights");
  EXPECT_EQ(page.words[1].box.x0, 68);
  EXPECT_EQ(page.words[1].box.x1, 80);
  EXPECT_EQ(page.words[2].box.x1, 100);
  EXPECT_EQ(texts_of({{60, 100, 10, 20,
                       "a\x7F"
                       "b\u00a0c\u2003d\u3000e"}}),
            (Texts{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(texts_of({{60, 100, 10, 20, "\x01"}, {104, 120, 10, 20, "\x02more\x02"}}), Texts{"more"});
}

TEST(BboxReader, ASpaceWithinANumberOrInTurnedTextPartsNothing) {
  EXPECT_EQ(texts_of({{60, 100, 10, 20, "1\u202f200"}}), Texts{"1\u202f200"});
  EXPECT_EQ(texts_of({{60, 70, 10, 90, "read\x01upwards"}}), Texts{"read upwards"});
}

TEST(BboxReader, FlatBoxesGetTheHeightOfTheirLetters) {
  const PageText page = page_with({{60, 87, 81.934F, 82.066F, "Limit"},
                                   {91, 111, 81.934F, 82.066F, "one"},
                                   {115, 159, 81.934F, 82.066F, "voucher"},
                                   {163, 174, 81.934F, 82.066F, "\u2014"}});
  for (const Word& word : page.words) {
    EXPECT_NEAR(word.box.y0, 72.5, 2) << word.text;
    EXPECT_NEAR(word.box.y1, 84.5, 2) << word.text;
  }
}

TEST(BboxReader, LowLettersAndWideSignsKeepTheirBoxes) {
  const PageText page =
      page_with({{60, 90, 10, 16, "lowset"}, {94, 154, 10, 16, "\u2014"}, {160, 166, 9, 21, "W"}});
  for (const Word& word : page.words) EXPECT_LE(word.box.height(), 12) << word.text;
  EXPECT_EQ(page.words[0].box.y0, 10);
  EXPECT_EQ(page.words[1].box.y0, 10);
}

TEST(BboxReader, APageWithoutAnEndIsReportedAsOverflow) {
  BboxReader reader;
  reader.feed("<page >" + std::string(BboxReader::kPageBytesMax, ' '));
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.overflow());
}

TEST(StyleReader, WordsInALineSetInBoldAreMarked) {
  PageText page;
  page.words.push_back({{72, 100, 90, 110}, "Bold", false, false});
  page.words.push_back({{72, 130, 90, 140}, "plain", false, false});
  StyleReader reader;
  reader.feed(
      "<page number=\"1\"><text top=\"148\" left=\"107\" width=\"40\" height=\"18\" "
      "font=\"0\"><b>Bold</b></text>"
      "<text top=\"195\" left=\"107\" width=\"40\" height=\"18\" font=\"1\">plain</text></page>");
  auto lines = reader.next();
  ASSERT_TRUE(lines);
  mark_bold(page, *lines);
  EXPECT_TRUE(page.words[0].bold);
  EXPECT_FALSE(page.words[1].bold);
}

PageText page_of(const std::string& text) {
  PageText page;
  page.words.push_back({{0, 0, 10, 10}, text, false, false});
  return page;
}

TEST(Leaders, UnmappedDotsAreDots) {
  std::string leader;
  for (int i = 0; i < 40; ++i) leader += "\uFFFD";
  PageText page =
      page_with({{60, 87, 10, 18, "Defence"}, {91, 181, 10, 18, leader}, {190, 210, 10, 18, "5,306"}});
  EXPECT_TRUE(take_unreadable(page).empty());
  EXPECT_EQ(page.words[1].text, std::string(40, '.'));
  const PageText symbols = page_with({{60, 87, 10, 18, "Defence\uF02E\uF02E\uF02E\uF02E\uF02E"}});
  EXPECT_EQ(symbols.words[0].text, "Defence.....");
}

TEST(Leaders, UnmappedLettersAreUnreadable) {
  std::string letters;
  for (int i = 0; i < 40; ++i) letters += "\uFFFD";
  PageText page = page_with({{60, 87, 10, 18, "Defence"}, {91, 291, 10, 18, letters}});
  EXPECT_EQ(take_unreadable(page).size(), 1U);
  ASSERT_EQ(page.words.size(), 1U);
  EXPECT_EQ(page.words[0].text, "Defence");
}

TEST(ShortText, APageNumberIsShortHoweverManyBytesItHas) {
  EXPECT_TRUE(short_text(page_of("")) && short_text(page_of("ABC000123")));
  EXPECT_TRUE(short_text(page_of("日本語の文章")));
  EXPECT_FALSE(short_text(page_of("twenty or more of good characters")));
}

TEST(Markers, ListAndSectionMarks) {
  EXPECT_TRUE(is_bullet("•") && is_bullet("–") && !is_bullet("e"));
  EXPECT_TRUE(is_item_number("1.") && is_item_number("(12)") && is_item_number("a)") &&
              is_item_number("iv."));
  EXPECT_FALSE(is_item_number("1") || is_item_number("1999.") || is_item_number(".") ||
               is_item_number("word."));
  EXPECT_EQ(section_depth("1."), 1);
  EXPECT_EQ(section_depth("2.3"), 2);
  EXPECT_EQ(section_depth("2.3.4."), 3);
  EXPECT_EQ(section_depth("1"), 0);
  EXPECT_EQ(section_depth("1999.5x"), 0);
}

TEST(Markers, AnySymbolAtTheHeadOfRowsIsABullet) {
  for (const char* text :
       {"•", "►", "❖", "➤", "✔", "→", "◆", "⬥", "‣", "◦", "☐", "\uf0b7", "\uf0fc", "\ue001"})
    EXPECT_TRUE(is_bullet(text)) << text;
  for (const char* text : {"", "€", "…", "❶", "►►", "日", "“", "½", "†"})
    EXPECT_FALSE(is_bullet(text)) << text;
}

TEST(Markers, NumbersOfOneListFollowOnEachOther) {
  for (const auto& [before, after] : {std::pair("1.", "2."),
                                      {"9)", "10)"},
                                      {"(a)", "(b)"},
                                      {"C.", "D."},
                                      {"iii.", "iv."},
                                      {"ix)", "x)"},
                                      {"i.", "ii."},
                                      {"h)", "i)"}}) {
    EXPECT_TRUE(follows_on(before, after)) << before << after;
  }
  for (const auto& [before, after] : {std::pair("1.", "3."),
                                      {"2.", "1."},
                                      {"1.", "2)"},
                                      {"(1)", "2)"},
                                      {"a)", "B)"},
                                      {"1.", "b."},
                                      {"", "1."},
                                      {".", "."}}) {
    EXPECT_FALSE(follows_on(before, after)) << before << after;
  }
}

TEST(Markers, ALineBeginsAfreshByACapitalOrADigit) {
  for (const char* text : {"The", "7 mills", "Über", "Глава", "Ωmega"})
    EXPECT_TRUE(starts_afresh(text)) << text;
  for (const char* text : {"the", "über", "глава", "ωmega", "שלום", "文章", "(", ""}) {
    EXPECT_FALSE(starts_afresh(text)) << text;
  }
  EXPECT_TRUE(starts_lower("глава"));
  EXPECT_FALSE(starts_lower("Глава"));
}

TEST(Markers, CapitalsOfCentralEuropeAreKnown) {
  for (const char* text : {"Škoda", "Łódź", "Żaba", "Ÿ", "Őrség", "İzmir"}) {
    EXPECT_TRUE(starts_afresh(text) && !starts_lower(text)) << text;
  }
  for (const char* text : {"škoda", "łódź", "żaba", "őrség", "ısı", "ĸ", "ŉ", "ſ"}) {
    EXPECT_TRUE(!starts_afresh(text) && starts_lower(text)) << text;
  }
}

TEST(Markers, AmountsAreDigitsWithTheirSigns) {
  for (const char* text : {"300", "1,300.00", "(5 %)", "-3", "€ 12", "−7", "1 200"})
    EXPECT_TRUE(is_amount(text)) << text;
  for (const char* text : {"", "-", "12 kg", "x2", "三"}) EXPECT_FALSE(is_amount(text)) << text;
}

TEST(Markers, EndsOfSentences) {
  EXPECT_TRUE(ends_sentence("so.") && ends_sentence("so?\"") && ends_sentence("(so.)") &&
              ends_sentence("so.”"));
  EXPECT_FALSE(ends_sentence("so") || ends_sentence("") || ends_sentence("so,"));
}

TEST(Markers, HyphensHealOnlyBetweenSmallLetters) {
  const auto joined = [](std::string first, const std::string& second) {
    join_line(first, second);
    return first;
  };
  EXPECT_EQ(joined("recog-", "nition"), "recognition");
  EXPECT_EQ(joined("recog\u00ad", "Nition"), "recogNition");
  EXPECT_EQ(joined("Anglo-", "Saxon"), "Anglo-Saxon");
  EXPECT_EQ(joined("light-", "and heavy-duty"), "light- and heavy-duty");
  EXPECT_EQ(joined("hus-", "bandry"), "husbandry");
  EXPECT_EQ(joined("pages 3 -", "7"), "pages 3 - 7");
  EXPECT_EQ(joined("über-", "über"), "überüber");
  EXPECT_EQ(joined("", "x"), "x");
}

TEST(Markers, LinesOfChineseAndJapaneseAreJoinedWithoutASpace) {
  const auto joined = [](std::string text, const char* line) {
    join_line(text, line);
    return text;
  };
  EXPECT_EQ(joined("吾輩は", "猫である。"), "吾輩は猫である。");
  EXPECT_EQ(joined("文章。", "PDF"), "文章。 PDF");
  EXPECT_EQ(joined("문장", "입니다"), "문장 입니다");
}

TEST(Bullets, ADotAloneBeforeARowIsItsBullet) {
  std::vector<Word> words{{{40, 100, 90, 120}, "item", false, false},
                          {{40, 200, 90, 220}, "plain", false, false}};
  add_bullets({{20, 108, 25, 113}, {20, 140, 25, 145}, {38, 205, 40, 207}}, words);
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[2].text, "•");
  EXPECT_EQ(words[2].box.x0, 20);
}

std::size_t bullets_for(const std::vector<Box>& dots) {
  std::vector<Word> words{{{20, 100, 60, 110}, "before"},  {{40, 120, 70, 130}, "a"},
                          {{75, 120, 90, 130}, "item"},    {{300, 117, 340, 127}, "beside"},
                          {{40, 140, 70, 150}, "another"}, {{300, 140, 340, 150}, "column"}};
  add_drawn_bullets(dots, words);
  return static_cast<std::size_t>(std::ranges::count(words, "•", &Word::text));
}

TEST(DrawnBullets, DotsBeforeTextOneAboveTheOtherAreBullets) {
  EXPECT_EQ(bullets_for({{30, 124, 33, 127}, {30, 144, 33, 147}}), 2U);
  EXPECT_EQ(bullets_for({{290, 124, 293, 127}, {290, 144, 293, 147}}), 2U) << "of the second column";
}

TEST(DrawnBullets, OtherDotsAreNone) {
  EXPECT_EQ(bullets_for({{30, 124, 33, 127}}), 0U) << "alone";
  EXPECT_EQ(bullets_for({{30, 124, 33, 127}, {10, 144, 13, 147}}), 0U) << "far from the text";
  EXPECT_EQ(bullets_for({{30, 124, 33, 127}, {26, 144, 29, 147}}), 0U) << "not one above the other";
  EXPECT_EQ(bullets_for({{71, 124, 73, 127}, {71, 144, 73, 147}}), 0U) << "close behind text";
  EXPECT_EQ(bullets_for({{30, 114, 33, 117}, {30, 134, 33, 137}}), 0U) << "between the lines";
  EXPECT_EQ(bullets_for({{23, 124, 26, 127}, {30, 124, 33, 127}, {23, 144, 26, 147}, {30, 144, 33, 147}}), 0U)
      << "in rows, as leaders are";
}

TEST(DrawnBullets, LinesThatAreSetInMayBeItems) {
  const auto page = [](const std::vector<float>& margins) {
    PageText text;
    float y = 100;
    for (const float x : margins) {
      text.words.push_back({{x, y, x + 40, y + 10}, "words"});
      text.words.push_back({{x + 45, y, x + 80, y + 10}, "follow"});
      y += 12;
    }
    return may_hold_items(text);
  };
  EXPECT_TRUE(page({20, 40, 40, 20}));
  EXPECT_FALSE(page({20, 20, 20}));
  EXPECT_FALSE(page({20, 40, 20, 20, 40, 20})) << "the first lines of paragraphs";
  EXPECT_FALSE(page({20, 400, 400})) << "another column";
}

process::Captured pdfinfo(const std::string& out, const std::string& err, int code) {
  process::Captured captured;
  captured.out = out;
  captured.err = err;
  captured.exit.code = code;
  return captured;
}

TEST(PdfInfo, SizesAreThoseThatAreShown) {
  auto pages = read_pdf_info(pdfinfo("Pages: 2\nPage    1 size:  595 x 842 pts (A4)\nPage    1 rot:   90\n"
                                     "Page    2 size:  612.5 x 792 pts (letter)\nPage    2 rot:   180\n",
                                     "", 0),
                             9, 10);
  ASSERT_TRUE(pages);
  EXPECT_EQ(pages->at(0).width, 842);
  EXPECT_EQ(pages->at(1).width, 612.5F);
}

TEST(PdfInfo, InspectingSomePagesCountsAllOfThem) {
  const auto pages = read_pdf_info(pdfinfo("Pages: 5\nPage    3 size:  10 x 20 pts\n", "", 0), 2, 10);
  ASSERT_TRUE(pages);
  EXPECT_EQ(pages->size(), 5U);
  EXPECT_EQ(pages->at(2).height, 20);
}

TEST(PdfInfo, APageThatIsCroppedAwayHasTheSizeOfItsMediaBox) {
  const auto pages = read_pdf_info(pdfinfo("Pages: 1\nPage    1 size:  0 x 0 pts\nPage    1 rot:   90\n"
                                           "Page    1 MediaBox:      10.00     0.00   310.00   400.00\n",
                                           "", 0),
                                   0, 10);
  ASSERT_TRUE(pages);
  EXPECT_EQ(pages->at(0).width, 400);
  EXPECT_EQ(pages->at(0).height, 300);
  EXPECT_TRUE(pages->at(0).uncropped);
}

TEST(PdfInfo, EachFailureHasItsCode) {
  const auto code = [](const process::Captured& captured) {
    return read_pdf_info(captured, 9, 10).error().code;
  };
  EXPECT_EQ(code(pdfinfo("", "Command Line Error: Incorrect password\n", 1)), Code::kDocumentEncrypted);
  EXPECT_EQ(code(pdfinfo("", "Syntax Error: Couldn't find the 'Adobe.PubSec' security handler\n", 1)),
            Code::kDocumentEncrypted);
  EXPECT_EQ(
      code(pdfinfo("", "Syntax Error: Unsupported version/revision (9/9) of Standard security handler\n", 1)),
      Code::kDocumentEncrypted);
  EXPECT_EQ(code(pdfinfo("", "Syntax Error: Couldn't read xref table\n", 1)), Code::kDocumentDamaged);
  EXPECT_EQ(code(pdfinfo("", "Syntax Error: Page count (900) larger than number of objects (10)\n", 99)),
            Code::kDocumentPageCount);
  EXPECT_EQ(code(pdfinfo("Pages: 0\n", "", 0)), Code::kDocumentPageCount);
  EXPECT_EQ(code(pdfinfo("",
                         "Command Line Error: Wrong page range given: the first page (9) can not be after "
                         "the last page (3).\n",
                         99)),
            Code::kInvalidField);
  EXPECT_EQ(code(pdfinfo("",
                         "Command Line Error: Wrong page range given: the first page (1) can not be after "
                         "the last page (0).\n",
                         99)),
            Code::kDocumentDamaged);
  EXPECT_EQ(code(pdfinfo("Pages: 2\nPage 1 size: 1 x 1 pts\nPage 2 size: 0 x 0 pts\n", "", 0)),
            Code::kDocumentPageCount);
  EXPECT_EQ(code(pdfinfo("Pages: 11\n", "", 0)), Code::kDocumentTooManyPages);
  process::Captured killed;
  killed.exit.signal = SIGXCPU;
  EXPECT_EQ(code(killed), Code::kDocumentBomb);
}

TEST(PdfInfo, AnInspectionThatExceedsTheWallTimeIsRetryable) {
  process::Captured late;
  late.exit.signal = SIGKILL;
  late.timed_out = true;
  const auto read = read_pdf_info(late, 9, 10);
  ASSERT_FALSE(read);
  EXPECT_EQ(base::info(read.error().code).retry, base::RetryClass::kTransient)
      << base::name(read.error().code);
  EXPECT_NE(read.error().message.find("ocr.page_timeout"), std::string::npos);
}

}  // namespace
}  // namespace millrace::engines
