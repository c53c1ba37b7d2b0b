#include "app/cli/progress.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

Totals totals_at(int pages_done, int pages_total, std::chrono::seconds elapsed) {
  Totals totals;
  totals.documents = 3;
  totals.documents_done = 1;
  totals.pages_done = pages_done;
  totals.pages_total = pages_total;
  totals.elapsed = elapsed;
  return totals;
}

TEST(Progress, TheTotalSaysSpeedAndTimeLeft) {
  const std::string line = totals_line(totals_at(20, 100, std::chrono::seconds(10)));
  EXPECT_EQ("1/3 documents · 20/100 pages · 2.0 pages/s · 0:40 left", line);
}

TEST(Progress, PagesOfAnEarlierRunDoNotMakeThisOneFaster) {
  Totals totals = totals_at(120, 200, std::chrono::seconds(10));
  totals.pages_before = 100;
  EXPECT_EQ("1/3 documents · 120/200 pages · 2.0 pages/s · 0:40 left", totals_line(totals));
}

TEST(Progress, TimeLeftCountsDocumentsWhosePagesAreNotKnownByTheMeanOfTheOthers) {
  Totals totals = totals_at(20, 40, std::chrono::seconds(10));
  totals.documents = 500;
  totals.documents_counted = 4;
  totals.documents_open = 496;
  EXPECT_EQ("1/500 documents · 20/~5000 pages · 2.0 pages/s · 41:30 left", totals_line(totals));
}

TEST(Progress, ATallySaysSpeedAndTimeLeftOfThisCommand) {
  Tally tally{.total = 100, .done = 60, .failed = 2, .before = 40, .elapsed = std::chrono::seconds(10)};
  EXPECT_EQ("60/100 requests · 2 failed · 2.0 requests/s · 0:20 left", tally_line(tally));
  tally.state = "cancelling";
  EXPECT_EQ("60/100 requests · 2 failed · cancelling", tally_line(tally));
  tally.state.clear();
  tally.done = 100;
  EXPECT_EQ("98 done, 2 failed · 6.0 requests/s · 0:10", tally_line(tally));
  EXPECT_EQ("validating", tally_line(Tally{.state = "validating"}));
}

TEST(Progress, ANameMovesNoCursorInABar) {
  const auto lines = render({{"red\x1b[31m\n.pdf", "queued"}}, totals_at(0, 0, {}), 80, 10, false);
  EXPECT_TRUE(lines[0].starts_with("red [31m .pdf  ")) << lines[0];
}

TEST(Progress, WhereNothingIsKnownNoTotalAndNoTimeAreMadeUp) {
  Totals totals = totals_at(0, 0, std::chrono::seconds(10));
  totals.documents_done = 0;
  totals.documents_open = 3;
  EXPECT_EQ("0/3 documents · 0/? pages · 0.0 pages/s", totals_line(totals));
}

TEST(Progress, TheTotalOfAFinishedRunSaysHowLongItTook) {
  Totals totals = totals_at(100, 100, std::chrono::seconds(3700));
  totals.documents_done = 3;
  EXPECT_EQ("3 read · 100 pages · 0.0 pages/s · 1:01:40", totals_line(totals));
}

TEST(Progress, ADocumentThatFailedIsNotCountedAmongThoseThatWereRead) {
  Totals totals = totals_at(20, 100, std::chrono::seconds(10));
  totals.documents = 50;
  totals.documents_done = 12;
  totals.documents_failed = 2;
  EXPECT_EQ("10 read, 2 failed of 50 · 20/100 pages · 2.0 pages/s · 0:40 left", totals_line(totals));
  totals.documents_done = 50;
  EXPECT_EQ("48 read, 2 failed · 20 pages · 2.0 pages/s · 0:10", totals_line(totals));
}

TEST(Progress, TheEndOfAResumedRunCountsItsOwnAndNamesThoseBefore) {
  Totals totals = totals_at(30, 30, std::chrono::seconds(2));
  totals.documents = totals.documents_done = 12;
  totals.documents_before = 9;
  totals.documents_failed = 1;
  totals.pages_before = 26;
  EXPECT_EQ("2 read, 1 failed, 9 before · 4 pages · 2.0 pages/s · 0:02", totals_line(totals));
}

TEST(Progress, EachDocumentHasABarAndLongNamesAreCutByCharactersNotBytes) {
  const std::vector<Bar> bars = {{"a.pdf", "running", 5, 10},
                                 {"überaus-langer-name-eines-dokuments-ohne-ende.pdf", "queued", 0, 0}};
  const auto lines = render(bars, totals_at(5, 10, std::chrono::seconds(1)), 200, 10, false);
  ASSERT_EQ(3u, lines.size());
  EXPECT_NE(std::string::npos, lines[0].find("a.pdf"));
  EXPECT_NE(std::string::npos, lines[0].find("5/10"));
  EXPECT_NE(std::string::npos, lines[1].find("überaus"));
  EXPECT_NE(std::string::npos, lines[1].find("…"));
  EXPECT_NE(std::string::npos, lines[1].find("queued"));
}

TEST(Progress, ANarrowScreenShowsTheTimeLeftRatherThanTheBarOfTheTotal) {
  const auto lines = render({}, totals_at(20, 100, std::chrono::seconds(10)), 80, 10, false);
  ASSERT_EQ(1u, lines.size());
  EXPECT_EQ("Total 1/3 documents · 20/100 pages · 2.0 pages/s · 0:40 left", lines[0]);
}

TEST(Progress, MoreDocumentsThanRowsAreCounted) {
  const std::vector<Bar> bars(20, Bar{"x.pdf", "running", 1, 2});
  const auto lines = render(bars, totals_at(1, 2, std::chrono::seconds(1)), 100, 6, false);
  ASSERT_EQ(6u, lines.size());
  EXPECT_EQ("… and 16 more", lines[4]);
}

}  // namespace
}  // namespace millrace::cli
