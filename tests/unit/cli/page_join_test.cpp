#include "app/cli/batch/page_join.h"

#include <chrono>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using Texts = std::vector<std::string>;

std::vector<DocumentPage> pages_from(const Texts& texts, int first = 0) {
  std::vector<DocumentPage> pages;
  for (const std::string& text : texts) pages.push_back({first++, text});
  return pages;
}

// The pages without running lines.
Texts left(const Texts& texts) {
  auto pages = pages_from(texts);
  drop_running_lines(pages);
  Texts out;
  for (const DocumentPage& page : pages) out.push_back(page.markdown);
  return out;
}

TEST(PageMarks, StandBeforeEachPageButTheFirst) {
  EXPECT_EQ(joined_pages(pages_from({"a", "b", "", "d"}), {.page_marks = true}),
            "a\n\n<!-- page 2 -->\n\nb\n\n<!-- page 3 -->\n\n<!-- page 4 -->\n\nd\n");
  EXPECT_EQ(joined_pages(pages_from({"e"}, 4), {.page_marks = true}), "<!-- page 5 -->\n\ne\n")
      << "part of a document";
  EXPECT_EQ(joined_pages(pages_from({"a", "b", "", "d"}), {}), "a\n\nb\n\nd\n");
  EXPECT_EQ(joined_pages(pages_from({"a\n"}), {.page_marks = true}), "a\n");
  EXPECT_EQ(joined_pages(pages_from({"", ""}), {.page_marks = true}), "") << "no text, so nothing is marked";
  EXPECT_EQ(joined_pages({}, {.page_marks = true}), "");
}

TEST(PageMarks, CountThePagesOfTheReply) {
  const auto reply = nlohmann::json::parse(
      R"({"pages":[{"index":1,"markdown":"b"},{"index":7,"markdown":"h"},{"index":9,"markdown":"","error":{}}]})");
  EXPECT_EQ(joined_pages(pages_of(reply), {.page_marks = true}),
            "<!-- page 2 -->\n\nb\n\n<!-- page 8 -->\n\nh\n\n<!-- page 10 -->\n");
}

TEST(PageTables, StandWhereThePageRefersToThem) {
  const auto text_of = [](const std::string& markdown, const char* tables) {
    nlohmann::json page = {{"index", 0}, {"markdown", markdown}, {"tables", nlohmann::json::parse(tables)}};
    return pages_of({{"pages", {page}}}).at(0).markdown;
  };
  const char* two =
      R"([{"id":"tbl-0.md","content":"|a|"},{"id":"tbl-1.html","content":"<table>[tbl-0.md]"}])";
  EXPECT_EQ(text_of("x\n\n[tbl-0.md](tbl-0.md)\n\n[y [tbl-1.html]", two), "x\n\n|a|\n\n[y <table>[tbl-0.md]");
  EXPECT_EQ(text_of("[tbl-0.md]", two), "|a|\n\n<table>[tbl-0.md]") << "nothing points to the second";
  EXPECT_EQ(text_of("", two), "|a|\n\n<table>[tbl-0.md]");
  const char* unordered =
      R"([{"id":"t-2","content":"2"},{"id":"t-10","content":"10"},{"id":"t-1","content":"1"}])";
  EXPECT_EQ(text_of("", unordered), "2\n\n10\n\n1") << "as the provider lists them";
  EXPECT_EQ(text_of("[a](b)", R"([1,{"id":3},{"id":"a"},{"content":"c"}])"), "[a](b)");
  EXPECT_EQ(text_of("[a]", "null"), "[a]");
  EXPECT_EQ(text_of(std::string(100'000, '['), two).size(), 100'000u + 24);
}

TEST(RunningLines, AreLeftOutFromThreePagesOn) {
  EXPECT_EQ(left({"Annual report\n\na\n\nACME Corp", "Annual report\n\nb\n\nACME Corp",
                  "Annual report\n\nc\n\nACME Corp"}),
            (Texts{"a", "b", "c"}));
  EXPECT_EQ(left({"Annual report\n\na", "Annual report\n\nb"}),
            (Texts{"Annual report\n\na", "Annual report\n\nb"}));
  EXPECT_EQ(left({"x\n\na", "Left head\n\nb", "Right head\n\nc", "Left head\n\nd", "Right head\n\ne",
                  "Left head\n\nf"}),
            (Texts{"x\n\na", "b", "Right head\n\nc", "d", "Right head\n\ne", "f"}));
}

TEST(RunningLines, MayHaveSeveralLinesAndCountThePages) {
  EXPECT_EQ(left({"Title page", "One\n\nTwo, page 2\n\na\n\nPage 2 of 4",
                  "One\n\nTwo, page 3\n\nb\n\nPage 3 of 4", "One\n\nTwo, page 4\n\nc\n\nPage 4 of 4"}),
            (Texts{"Title page", "a", "b", "c"}));
}

TEST(RunningLines, WhatOnlyLooksAlikeStays) {
  const std::vector<Texts> kept = {
      {"a\n\nTotal: 100 EUR", "b\n\nTotal: 250 EUR", "c\n\nTotal: 90 EUR"},      // other numbers
      {"a\n\nTotal: 9.50 EUR", "b\n\nTotal: 9.50 EUR", "c\n\nTotal: 9.50 EUR"},  // an amount
      {"# Invoice\n\na", "# Invoice\n\nb", "# Invoice\n\nc"},                    // a heading
      {"| Item |\n|---|\n| a |\n\nx", "| Item |\n|---|\n| b |\n\ny", "| Item |\n|---|\n| c |\n\nz"},
      {"a\n\n- yes", "b\n\n- yes", "c\n\n- yes"},
      {"![img-0](img-0)\n\na", "![img-0](img-0)\n\nb", "![img-0](img-0)\n\nc"},
      {"a\n\n12", "b\n\n12", "c\n\n12"},                          // no word
      {"Same", "Same", "Same"},                                   // all of the page
      {"a\n\nx\ny", "b\n\nx\ny", "c\n\nx\ny"},                    // more than a line
      {"a\n\nSame\n\nb", "c\n\nSame\n\nd", "e\n\nSame\n\nf"},     // not at an end
      {"Question 1\n\na", "Question 2\n\nb", "Question 3\n\nc"},  // counts, but not the pages' own number
      {"Question 1 of 3\n\na", "Question 2 of 3\n\nb", "Question 3 of 3\n\nc"},
      {"a\n\nSignature: ____", "b\n\nSignature: ____", "c\n\nSignature: ____"},  // a blank
      {"a\n\nName: ......", "b\n\nName: ......", "c\n\nName: ......"},
      {"", "", ""},
  };
  for (const Texts& texts : kept) EXPECT_EQ(left(texts), texts) << texts.front();
}

TEST(RunningLines, AreOnMostPagesUnlessTheyAreOnlyThePagesNumber) {
  Texts texts, kept;
  for (int i = 0; i < 300; ++i) {
    const std::string text = "text" + std::string(static_cast<std::size_t>(i), 'x');
    const std::string head = i % 100 == 0 ? "Signed on behalf of the board\n\n" : "";
    kept.push_back(head + text);
    texts.push_back(head + text + "\n\n" + "Page " + std::to_string(i + 1));
  }
  EXPECT_EQ(left(texts), kept);
}

TEST(RunningLines, ThatAreOnlyANumberCountThePages) {
  for (const char* form :
       {"Page 0", "PAGE 0 of 9", "0 of 9", "0 / 9", "0/9", "- 0 -", "— 0 —", "0", "p. 0"}) {
    Texts texts;
    for (const char* number : {"4", "5", "6"}) {
      std::string line = form;
      line.replace(line.find('0'), 1, number);
      texts.push_back(line + "\n\ntext " + number + "x\n\n" + line);
    }
    EXPECT_EQ(left(texts), (Texts{"text 4x", "text 5x", "text 6x"})) << form;
  }
  const Texts jumps = {"a\n\nPage 1", "b\n\nPage 7", "c\n\nPage 4"};
  EXPECT_EQ(left(jumps), jumps);
}

TEST(RunningLines, AreKeptOnRequest) {
  const Texts texts = {"Head\n\na", "Head\n\nb", "Head\n\nc"};
  EXPECT_EQ(joined_pages(pages_from(texts), {}), "a\n\nb\n\nc\n");
  EXPECT_EQ(joined_pages(pages_from(texts), {.keep_running_lines = true}),
            "Head\n\na\n\nHead\n\nb\n\nHead\n\nc\n");
}

TEST(RunningLines, OfManyPagesWithOtherNumbersAreFoundAtOnce) {
  Texts texts;
  for (int i = 0; i < 20'000; ++i)
    texts.push_back("text\n\nPage " + std::to_string(static_cast<std::int64_t>(i) * i % 99'991));
  const auto begun = std::chrono::steady_clock::now();
  left(texts);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST(RunningLines, TakeNoMoreThanThreeLinesOfAnEnd) {
  const std::string text = "A head\n\nB head\n\nC head\n\nD head\n\n";
  EXPECT_EQ(left({text + "a", text + "b", text + "c"}), (Texts{"D head\n\na", "D head\n\nb", "D head\n\nc"}));
}

}  // namespace
}  // namespace millrace::cli
