#include "ai/engines/layout/literal.h"

#include <gtest/gtest.h>

namespace millrace::engines {
namespace {

std::string line(std::string_view text) { return literal(text, Place::kParagraph); }

TEST(Literal, PlainTextStaysAsItIs) {
  for (const std::string text :
       {"The mill. It stood (so they say) at the bend - by the river!", "-5 degrees", "+49 30 1234",
        "a --- b", "C:\\Users\\mill", "5 * 3 * 2", "snake_case_name", "Name: ______ Date: ______",
        "Price* and *) below", "it`s", "as in [1] (and [2])", "Smith & Sons; AT&T", "a < b <= c <3", "12:30",
        "https://mill.example/a_b", "in 2026. It was", "~ten", "[1] Smith"}) {
    EXPECT_EQ(line(text), text);
  }
}

TEST(Literal, WhatWouldBeginABlockIsEscaped) {
  for (const std::string text : {"---", "====", "+ plus", "* star", "***", "|", "> quoted", "# head", "--|--",
                                 ":--|--:", "```", "~~~ text", "[1]: https://mill.example", "[a\nb]: c"}) {
    const std::string shown = text == "[a\nb]: c" ? "[a  \nb]: c" : text;
    EXPECT_EQ(line(text), "\\" + shown);
    EXPECT_EQ(line("first\n" + text), "first  \n\\" + shown);
  }
  EXPECT_EQ(line("1986. A great year\n3) more"), "1986\\. A great year  \n3\\) more");
  EXPECT_EQ(line("    code"), "code");
}

TEST(Literal, LinksAndPicturesAreEscaped) {
  EXPECT_EQ(line("![logo](https://mill.example/x.png)"), "!\\[logo\\](https://mill.example/x.png)");
  EXPECT_EQ(line("[a](javascript:alert(1)) [1]"), "\\[a\\](javascript:alert(1)) [1]");
  EXPECT_EQ(line("<https://mill.example> <1@mill.example>"), "\\<https://mill.example> \\<1@mill.example>");
}

TEST(Literal, HtmlAndCharactersByTheirNamesAreEscaped) {
  EXPECT_EQ(line("see <b>this</b> and <!-- that <img src=x onerror=y>"),
            "see \\<b>this\\</b> and \\<!-- that \\<img src=x onerror=y>");
  EXPECT_EQ(line("&lt;b&gt; &#60; &#x3c; & so"), "\\&lt;b\\&gt; \\&#60; \\&#x3c; & so");
}

TEST(Literal, SignsThatPairAreEscaped) {
  EXPECT_EQ(line("a *word* and **bold**"), "a \\*word\\* and \\*\\*bold\\*\\*");
  EXPECT_EQ(line("__init__.py, `name`, ~~gone~~"), "\\_\\_init\\_\\_.py, \\`name\\`, \\~\\~gone\\~\\~");
  EXPECT_EQ(line("from *here\nto* there"), "from \\*here  \nto\\* there");
  EXPECT_EQ(line("not *here\n***"), "not \\*here  \n\\*\\*\\*");
}

TEST(Literal, ABackslashOfTheTextUndoesNoEscape) {
  EXPECT_EQ(line("\\<b>"), "\\\\\\<b>");
  EXPECT_EQ(line("[a\\](b)"), "\\[a\\\\\\](b)");
  EXPECT_EQ(line("ends in \\\nso"), "ends in \\\\  \nso");
  EXPECT_EQ(literal("a\\|b", Place::kCell), "a\\\\\\|b");
}

TEST(Literal, EachPlaceHasItsOwnSigns) {
  EXPECT_EQ(literal("a|b", Place::kCell), "a\\|b");
  EXPECT_EQ(literal("# C #", Place::kHeading), "# C \\#");
  EXPECT_EQ(literal("In C#", Place::kHeading), "In C#");
  EXPECT_EQ(literal("[x] done", Place::kItem), "\\[x] done");
  EXPECT_EQ(literal("- inner", Place::kItem), "\\- inner");
  EXPECT_EQ(literal("- a `b", Place::kLoose), "- a \\`b");
}

// A separate search for the end of each name would take quadratic time.
TEST(Literal, AMegabyteOfOpenBracketsIsReadInOnePass) {
  std::string brackets;
  for (int i = 0; i < 500'000; ++i) brackets += "[\n";
  EXPECT_EQ(line(brackets).size(), brackets.size() + 2 * 500'000);  // two spaces per line, nothing is escaped
}

TEST(Literal, SoftHyphensAreLeftOut) {
  EXPECT_EQ(line("soft\u00adhyphen and more\u00ad"), "softhyphen and more");
}

}  // namespace
}  // namespace millrace::engines
