#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

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

TEST(Layout, ParagraphsOfALetterThatMostlyHaveOneLineStayApart) {
  Sheet sheet;
  const std::vector<std::string> lines{"17 April 2024", "Dear Mrs Sharp", "Total amount due today",
                                       "Yours sincerely"};
  float y = 100;
  for (const std::string& line : lines) sheet.lines(50, y, {line}), y += 1.6F * kPitch;
  sheet.lines(50, y, kProse);
  y += 3.6F * kPitch;
  for (const std::string& line : lines) sheet.lines(50, y, {line}), y += 1.6F * kPitch;
  const std::string text = sheet.markdown();
  EXPECT_NE(text.find("17 April 2024\n\nDear Mrs Sharp\n\nTotal amount"), std::string::npos) << text;
}

TEST(Layout, DoubleSpacedTextIsOneParagraph) {
  Sheet sheet;
  float y = 100;
  for (int i = 0; i < 4; ++i) {
    for (const std::string& line : kProse) sheet.lines(50, y, {line}), y += 1.6F * kPitch;
  }
  sheet.lines(50, y + 20, kProse);
  const std::string text = sheet.markdown();
  EXPECT_EQ(text.find("\n\n"), text.rfind("\n\n")) << text;
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

TEST(Layout, ASmallCentredLineOnTopOfTheFirstPageIsARunningHead) {
  Sheet sheet(true);
  sheet.first_page().put(178, 60, "A Study of Queues", false, 0.8F).lines(50, 100, kProse);
  EXPECT_TRUE(sheet.markdown().starts_with("A Study of Queues\n\n")) << sheet.markdown();
}

TEST(Layout, WordsOfAScriptWithoutSpacesAreJoinedUnlessTheyStandApart) {
  Sheet near(true);
  near.put(50, 100, "設備").put(81, 100, "点検。").put(128, 100, "来月");
  EXPECT_EQ(near.markdown(), "設備点検。来月");
  EXPECT_EQ(Sheet(true).put(50, 100, "氏名").put(100, 100, "山田").markdown(), "氏名 山田");
  EXPECT_EQ(Sheet(true).put(50, 100, "設備").put(81, 100, "is").markdown(), "設備 is");
}

TEST(Layout, ALonePageNumberIsLeftOut) {
  for (const std::string number : {"7", "- 7 -", "Page 7", "7 / 12", "7 of 12", "xii"}) {
    EXPECT_EQ(Sheet().lines(50, 100, kProse).put(290, 770, number).markdown().find(number), std::string::npos)
        << number;
  }
  EXPECT_NE(Sheet().lines(50, 100, kProse).put(290, 770, "Seven").markdown().find("Seven"),
            std::string::npos);
}

TEST(Layout, ALonePageNumberBelowALineOfTheFootIsLeftOut) {
  const std::string text =
      Sheet().lines(50, 100, kProse).put(270, 757, "Annual Report").put(297, 770, "7").markdown();
  EXPECT_TRUE(text.ends_with("\n\nAnnual Report")) << text;
}

TEST(Layout, TheLastAmountOfAColumnIsNoPageNumber) {
  const std::string text =
      Sheet().lines(500, 731, {"1,200", " 100", "1,300"}).put(510, 770, "300").markdown();
  EXPECT_NE(text.find("300"), std::string::npos) << text;
  EXPECT_NE(Sheet().lines(500, 744, {"200", "100", "300"}).markdown().find("300"), std::string::npos);
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

// The widest line of the left block does not reach the right block, so its line ends are intended too.
TEST(Layout, AnAddressBesideAnotherBlockKeepsItsLines) {
  EXPECT_EQ(Sheet()
                .lines(50, 100,
                       {"Acme Industrial Supplies Ltd", "14 Harbour Road", "Building C, Floor 3",
                        "Portsmouth PO1 3AX", "United Kingdom"})
                .lines(330, 100, kProse)
                .lines(330, 139, kProse)
                .markdown(),
            "Acme Industrial Supplies Ltd  \n14 Harbour Road  \nBuilding C, Floor 3  \nPortsmouth PO1 3AX  \n"
            "United Kingdom\n\n" +
                kProseText + " " + kProseText);
}

const std::vector<std::string> kSender{"Acme Industrial Supplies Ltd", "14 Harbour Road",
                                       "Portsmouth PO1 3AX", "United Kingdom"};
const std::vector<std::string> kReceiver{"Northern Mills GmbH", "Am Deich 12", "28199 Bremen", "Germany"};
const std::string kSenderText =
    "Acme Industrial Supplies Ltd  \n14 Harbour Road  \nPortsmouth PO1 3AX  \nUnited Kingdom";
const std::string kReceiverText = "Northern Mills GmbH  \nAm Deich 12  \n28199 Bremen  \nGermany";
const std::vector<std::string> kLetter{"thank you for your order of the ninth of March and for the samples",
                                       "that came with it; we have packed the goods and they will leave our",
                                       "mill on Monday morning if somebody is at the gate to sign for them"};

TEST(Layout, TwoAddressesSideBySideAreTwoBlocksAboveTheSalutation) {
  const std::string below = "\n\nDear Ms Sharp,\n\n" + kLetter[0] + " " + kLetter[1] + " " + kLetter[2];
  for (const float down : {0.0F, 5.0F}) {
    Sheet sheet;
    sheet.lines(50, 60, kSender).lines(330, 60 + down, kReceiver);
    sheet.put(50, 160, "Dear Ms Sharp,").lines(50, 186, kLetter);
    EXPECT_EQ(sheet.markdown(), kSenderText + "\n\n" + kReceiverText + below);
  }
}

TEST(Layout, AddressesOfOtherNumbersOfLinesKeepTheirLines) {
  Sheet sheet;
  sheet.lines(50, 60, {kSender[0], kSender[1], kSender[2]}).lines(330, 60, kReceiver);
  sheet.put(330, 112, "Tel. 0421 1234567").lines(50, 186, kLetter);
  EXPECT_TRUE(
      sheet.markdown().starts_with("Acme Industrial Supplies Ltd  \n14 Harbour Road  \nPortsmouth PO1 "
                                   "3AX\n\n" +
                                   kReceiverText + "  \nTel. 0421 1234567\n\nthank you"))
      << sheet.markdown();
  Sheet two;
  two.lines(50, 60, {"Acme Ltd", "14 Harbour Road"}).lines(330, 60, {"Northern Mills GmbH", "Am Deich 12"});
  two.lines(50, 186, kLetter);
  EXPECT_TRUE(two.markdown().starts_with(
      "Acme Ltd  \n14 Harbour Road\n\nNorthern Mills GmbH  \nAm Deich 12\n\nthank you"))
      << two.markdown();
}

TEST(Layout, TheLinesOfAnAddressDoNotRunOnInTheTextBelow) {
  Sheet sheet;
  sheet.lines(50, 60, kProse).lines(50, 99, kProse).lines(450, 60, kReceiver).lines(200, 186, kLetter);
  EXPECT_NE(sheet.markdown().find(kReceiverText + "\n\nthank you"), std::string::npos) << sheet.markdown();
}

// Text beside running text is read separately, whether its lines are level with the other lines or between
// them.
TEST(Layout, ASidebarIsReadApartFromTheTextBesideIt) {
  const std::vector<std::string> side{"Contact", "Ada Lovelace", "Bremen", "Skills", "Milling"};
  const std::vector<std::string> text{
      "The mill stands by the river and turns by day", "and by night. Every sack of grain is weighed",
      "before it is ground, and the miller writes", "it into the ledger. Nobody has ever seen him",
      "rest on a day when the wind was good."};
  std::string whole;
  for (const std::string& line : text) whole += (whole.empty() ? "" : " ") + line;
  const std::string apart = "Contact  \nAda Lovelace  \nBremen  \nSkills  \nMilling\n\n" + whole;
  EXPECT_EQ(Sheet().lines(50, 100, side).lines(200, 100, text).markdown(), apart);
  EXPECT_EQ(Sheet().lines(50, 106, side).lines(200, 100, text).markdown(), apart);
}

TEST(Layout, NamesBesideTheirDescriptionsAreATable) {
  Sheet sheet;
  const std::vector<std::string> names{"Flour", "Rye bread", "Oats", "Bran"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const float y = 100 + 30 * static_cast<float>(i);
    sheet.put(50, y, names[i])
        .put(200, y, "is what the mill makes first of all and")
        .put(200, y + 12, "sells to the bakers of the town");
  }
  EXPECT_TRUE(sheet.markdown().starts_with("| Flour | is what the mill makes first of all and sells"))
      << sheet.markdown();
}

TEST(Layout, HeadsOfSectionsOfAScanHaveTheDepthOfTheirNumber) {
  Sheet sheet(true);
  sheet.lines(50, 60, kProse).put(50, 118, "1 Introduction").lines(50, 134, kProse);
  sheet.put(50, 192, "2.1 Mills of the north").lines(50, 208, kProse);
  EXPECT_EQ(sheet.markdown(), kProseText + "\n\n# 1 Introduction\n\n" + kProseText +
                                  "\n\n## 2.1 Mills of the north\n\n" + kProseText);
}

TEST(Layout, ADateOrAQuantityBeginsNoSection) {
  for (const std::string line : {"12 March 2024", "3 Items", "5 kg", "12. März 2024", "3.5 kg of flour"}) {
    Sheet scan(true), bold;
    scan.lines(50, 60, kProse).put(50, 118, line).lines(50, 134, kProse);
    EXPECT_EQ(scan.markdown().find('#'), std::string::npos) << scan.markdown();
    bold.lines(50, 60, kProse).put(50, 118, line, true).lines(50, 134, kProse);
    EXPECT_NE(bold.markdown().find("\n\n### "), std::string::npos) << bold.markdown();
  }
}

TEST(Layout, AWideGapAfterANumberOrASectionBesideItMakesASection) {
  Sheet apart(true);
  apart.lines(50, 60, kProse).put(50, 118, "2").put(65, 118, "Mills").lines(50, 134, kProse);
  EXPECT_NE(apart.markdown().find("\n\n# 2 Mills\n\n"), std::string::npos) << apart.markdown();
  Sheet series(true);
  series.lines(50, 60, kProse).put(50, 118, "2 Mills").lines(50, 134, kProse);
  series.put(50, 192, "3 Wheels").lines(50, 208, kProse);
  EXPECT_NE(series.markdown().find("\n\n# 3 Wheels\n\n"), std::string::npos) << series.markdown();
}

TEST(Layout, AShortRowApartFromItsTextHeadsAColumnOfAScan) {
  Sheet sheet(true);
  sheet.put(50, 60, "METHOD").lines(50, 77, kProse);
  EXPECT_EQ(sheet.markdown(), "### METHOD\n\n" + kProseText);
  Sheet close(true);
  close.put(50, 60, "Method").lines(50, 60 + kPitch, kProse);
  EXPECT_EQ(close.markdown().find('#'), std::string::npos) << close.markdown();
}

}  // namespace
}  // namespace millrace::engines
