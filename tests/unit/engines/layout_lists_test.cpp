#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/engines/sheet.h"

namespace millrace::engines {
namespace {

TEST(LayoutLists, BulletsAreItemsAndTheirLinesAreJoined) {
  Sheet sheet;
  sheet.lines(50, 100, {"• first of them goes over", "  two lines", "• second"});
  EXPECT_EQ(sheet.markdown(), "- first of them goes over two lines\n- second");
}

TEST(LayoutLists, AMisreadBulletIsABulletOnlyInFrontOfAGap) {
  Sheet wide(true);
  wide.put(50, 100, "e").put(70, 100, "read as a letter").put(50, 113, "¢").put(70, 113, "read as money");
  EXPECT_EQ(wide.markdown(), "- read as a letter\n- read as money");
  EXPECT_EQ(Sheet(true).put(50, 100, "e is a number").markdown(), "e is a number");
}

TEST(LayoutLists, LettersThatBulletFontsMapToAreBulletsOnlyTogether) {
  for (const float text : {62.0F, 74.0F}) {
    Sheet sheet;
    float y = 100;
    for (const std::string item : {"First point about apples", "Second about pears", "Third about plums"}) {
      sheet.put(50, y, "o").put(text, y, item);
      y += kPitch;
    }
    EXPECT_EQ(sheet.markdown(), "- First point about apples\n- Second about pears\n- Third about plums");
  }
  EXPECT_EQ(Sheet().lines(50, 100, {"o bom filho", "o mau filho"}).markdown(), "o bom filho o mau filho");
  EXPECT_EQ(Sheet().put(50, 100, "v").put(62, 100, "alone").markdown(), "v alone");
  Sheet table;
  for (int i = 0; i < 3; ++i) {
    const float y = 100 + kPitch * static_cast<float>(i);
    table.put(50, y, "o").put(80, y, "name").put(200, y, "12");
  }
  EXPECT_THAT(table.markdown(), ::testing::StartsWith("| o | name | 12 |"));
}

TEST(LayoutLists, SymbolsBeforeRowsAreBullets) {
  EXPECT_EQ(Sheet()
                .put(50, 100, "►")
                .put(75, 100, "First")
                .put(50, 113, "\uf0fc")
                .put(75, 113, "Second")
                .markdown(),
            "- First\n- Second");
  EXPECT_EQ(Sheet().put(50, 100, "☐").put(75, 100, "open").put(50, 113, "☑").put(75, 113, "done").markdown(),
            "- [ ] open\n- [x] done");
}

TEST(LayoutLists, TwoRowsThatBeginWithASignAreNoTable) {
  Sheet sheet(true);
  sheet.put(50, 100, "¢").put(75, 100, "The first item").put(50, 113, "¢").put(75, 113, "The second item");
  EXPECT_EQ(sheet.markdown(), "- The first item\n- The second item");
}

TEST(LayoutLists, ALetteredItemIsNoHeading) {
  for (const std::string mark : {"a)", "(a)", "c)", "3)"}) {
    Sheet sheet(true);
    const float text = 50 + 1.2F * kCharacter * static_cast<float>(mark.size()) + 4;
    sheet.lines(50, 100, kProse)
        .put(50, 165, mark, false, 1.2F)
        .put(text, 165, "Delivery terms", false, 1.2F);
    sheet.lines(50, 186, kProse);
    EXPECT_EQ(sheet.markdown().find("# "), std::string::npos) << sheet.markdown();
    EXPECT_NE(sheet.markdown().find("Delivery terms"), std::string::npos) << sheet.markdown();
  }
  Sheet numbered(true);
  numbered.lines(50, 100, kProse).put(50, 165, "B. Delivery terms", false, 1.2F).lines(50, 186, kProse);
  EXPECT_NE(numbered.markdown().find("# B. Delivery terms"), std::string::npos) << numbered.markdown();
}

TEST(LayoutLists, SignsReadInPlaceOfBulletsAreNoColumn) {
  Sheet sheet(true);
  float y = 100;
  for (const std::string mark : {"¢", "e", "¢", "«"}) {
    sheet.put(50, y, mark).put(75, y, "an item of the list");
    y += kPitch;
  }
  EXPECT_EQ(sheet.markdown(),
            "- an item of the list\n- an item of the list\n- an item of the list\n- an item of the list");
}

TEST(LayoutLists, AsterisksApartFromEachOtherAreBulletsBesideAWordThatEndsInOne) {
  Sheet sheet;
  sheet.lines(50, 100, {"The wheel* turns by day and by night, and the stone never rests."});
  sheet.put(50, 140, "* flour of wheat").put(50, 166, "* flour of rye").put(50, 192, "* bran");
  EXPECT_NE(sheet.markdown().find("- flour of wheat\n- flour of rye\n- bran"), std::string::npos)
      << sheet.markdown();
}

TEST(LayoutLists, AsterisksOfItemsOfManyRowsAreBulletsBesideAWordThatEndsInOne) {
  Sheet sheet;
  sheet.lines(50, 100, {"The wheel* turns by day and by night, and the stone never rests."});
  sheet.put(50, 140, "* flour of wheat, which is").put(62, 153, "ground by day");
  sheet.put(62, 180, "and also by night").put(50, 206, "* flour of rye");
  EXPECT_NE(sheet.markdown().find("- flour of wheat, which is ground by day"), std::string::npos)
      << sheet.markdown();
  EXPECT_NE(sheet.markdown().find("- flour of rye"), std::string::npos) << sheet.markdown();
}

TEST(LayoutLists, MarksThatStandBelowEachOtherAreBulletsWithoutAGap) {
  Sheet sheet(true);
  sheet.lines(50, 100, {"« first of them", ". second of them", "* third of them"});
  EXPECT_EQ(sheet.markdown(), "- first of them\n- second of them\n- third of them");
  EXPECT_EQ(Sheet(true).put(50, 100, "« quoted » alone").markdown(), "« quoted » alone");
  EXPECT_EQ(Sheet(true).lines(50, 100, {"e cosi via", "e cosi sia"}).markdown(), "e cosi via e cosi sia");
}

TEST(LayoutLists, AnItemIsNoHeadingHoweverLargeItsLettersSeem) {
  Sheet sheet(true);
  sheet.lines(50, 100, kProse).put(50, 170, "• an item of a list", false, 1.5F);
  EXPECT_THAT(sheet.markdown(), ::testing::EndsWith("\n\n- an item of a list"));
}

TEST(LayoutLists, NumberedItemsKeepTheirNumbers) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  for (int i = 1; i <= 3; ++i) {
    const float y = 150 + kPitch * static_cast<float>(i);
    sheet.put(50, y, std::to_string(i) + ")").put(75, y, "point and more");
  }
  EXPECT_NE(sheet.markdown().find("\n\n1. point and more\n2. point and more\n3. point"), std::string::npos)
      << sheet.markdown();
}

TEST(LayoutLists, ItemsInItemsAreIndented) {
  Sheet sheet;
  sheet.put(50, 100, "• outer item")
      .put(80, 113, "– inner item")
      .put(80, 126, "– inner again")
      .put(50, 139, "• outer");
  EXPECT_EQ(sheet.markdown(), "- outer item\n   - inner item\n   - inner again\n- outer");
}

TEST(LayoutLists, ItemsAreKnownByTheNumbersThatFollowEachOther) {
  EXPECT_EQ(Sheet().lines(50, 100, {"1. one thing", "2. two things", "3. three"}).markdown(),
            "1. one thing\n2. two things\n3. three");
  EXPECT_EQ(Sheet().lines(50, 100, {"a) one thing", "b) two things"}).markdown(),
            "a) one thing\nb) two things");
  Sheet wrapped;
  wrapped.lines(50, 100, {"(1) one thing that goes on", "    over this line", "(2) two"});
  EXPECT_EQ(wrapped.markdown(), "1. one thing that goes on over this line\n2. two");
}

TEST(LayoutLists, ALineOfProseThatBeginsWithANumberIsNoItem) {
  const std::string line = "3. and that is all there is about it but for a number that ends its line";
  EXPECT_EQ(Sheet().lines(50, 100, {kProse[0], line, kProse[1]}).markdown(),
            kProse[0] + " " + line + " " + kProse[1]);
}

TEST(LayoutLists, ADashOfSpeechIsNoBullet) {
  EXPECT_EQ(Sheet()
                .lines(50, 100,
                       {"— I shall come tomorrow, said the old man, and closed the door behind",
                        "him without another word.", "— So be it."})
                .markdown(),
            "— I shall come tomorrow, said the old man, and closed the door behind him without another word."
            "\n\n— So be it.");
}

TEST(LayoutLists, LinesThatAllBeginWithADashAreNotJoined) {
  EXPECT_EQ(Sheet().lines(50, 100, {"— a certificate of the address", "— two photographs"}).markdown(),
            "— a certificate of the address\n\n— two photographs");
}

TEST(LayoutLists, ADashAtTheBeginningOfALineDoesNotEndItsSentence) {
  EXPECT_EQ(Sheet().lines(50, 100, {kProse[0], "— and nobody", kProse[1]}).markdown(),
            kProse[0] + " — and nobody " + kProse[1]);
}

// Markdown joins these lines into one paragraph. No markup may start in one line and end in the next.
TEST(LayoutLists, NothingPairsOverItemsThatMarkdownDoesNotKnow) {
  EXPECT_EQ(Sheet().lines(50, 100, {"- [x", "a) y]: https://mill.example/p.png", "b) z"}).markdown(),
            "- \\[x\na) y]: https://mill.example/p.png\nb) z");
  EXPECT_EQ(Sheet().lines(50, 100, {"- it`s", "a) the` end", "b) *x", "c) y*"}).markdown(),
            "- it\\`s\na) the\\` end\nb) \\*x\nc) y\\*");
}

TEST(LayoutLists, NothingPairsOverAListInsideAnItemThatBeginsWithAnotherNumber) {
  EXPECT_EQ(Sheet().lines(50, 100, {"- a `b"}).lines(80, 113, {"5. c` d", "6. e"}).markdown(),
            "- a \\`b\n   5. c\\` d\n   6. e");
}

TEST(LayoutLists, AnItemWithoutTextIsLeftOut) {
  EXPECT_EQ(Sheet().lines(50, 100, {"a) one", "- \u00ad", "b) two"}).markdown(), "a) one\nb) two");
}

TEST(LayoutLists, AnItemWithoutTextDoesNotJoinTheNextToTheParagraphAbove) {
  Sheet sheet;
  sheet.lines(50, 100, {"a `b", "- \u00ad"}).put(50, 126, "2.").put(75, 126, "c` d");
  EXPECT_EQ(sheet.markdown(), "a `b\n\n2. c` d");
}

TEST(LayoutLists, AnItemInsideOfOneWithALongNumberIsIndentedFurther) {
  Sheet sheet;
  sheet.lines(50, 100, {"9. nine", "10. ten"}).put(80, 126, "– inner").put(110, 139, "– within");
  EXPECT_EQ(sheet.markdown(), "9. nine\n10. ten\n    - inner\n       - within");
}

TEST(LayoutLists, MarksBelowATextAreOfTheItemsBesideThem) {
  Sheet sheet;
  sheet.lines(50, 100, kProse);
  for (int i = 0; i < 6; ++i) {
    const float y = 150 + kPitch * static_cast<float>(i);
    sheet.put(110, y, "-").put(130, y, "flour that was ground by the mill");
  }
  EXPECT_THAT(sheet.markdown(),
              ::testing::HasSubstr("alone\n\n- flour that was ground by the mill\n- flour"));
}

TEST(LayoutLists, AnItemIsKnownByTheNextHoweverManyLinesItHas) {
  Sheet sheet;
  sheet.lines(50, 100, {kProse[0], "1. " + kProse[1]});
  for (int i = 2; i < 9; ++i) sheet.put(65, 100 + kPitch * static_cast<float>(i), kProse[2]);
  sheet.lines(50, 100 + 9 * kPitch, {"2. and that is all"});
  EXPECT_THAT(sheet.markdown(), ::testing::HasSubstr("\n\n1. someone reads it"));
}

}  // namespace
}  // namespace millrace::engines
