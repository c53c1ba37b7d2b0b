#include "app/cli/batch/batch_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/batch/ocr_command.h"

namespace millrace::cli {
namespace {

EarlierResults before_of(int documents, int done) {
  return {.documents = documents, .done = done, .folder = "out"};
}

TEST(BatchTexts, AFirstRunReportsNoEarlierRuns) { EXPECT_EQ("", before_text(before_of(3, 0), {})); }

TEST(BatchTexts, ASecondRunSaysWhatIsDoneWhereItIsAndWhatRemains) {
  EXPECT_EQ("10 of 12 documents were read before, their results are in out; 2 remain",
            before_text(before_of(12, 10), {}));
  EXPECT_EQ("1 of 2 documents was read before, its result is in out; 1 remains",
            before_text(before_of(2, 1), {}));
}

TEST(BatchTexts, RunningAndFailedDocumentsOfEarlierRunsAreReported) {
  EarlierResults before = before_of(12, 8);
  before.going_on = 3;
  before.failed = 1;
  EXPECT_EQ(
      "8 of 12 documents were read before, their results are in out; 4 remain (3 already submitted, 1 "
      "failed before and is retried)",
      before_text(before, {}));
  before.done = before.failed = 0;
  EXPECT_EQ("The previous run has read none; 12 remain (3 already submitted)", before_text(before, {}));
}

TEST(BatchTexts, WhereAllIsDoneItSaysHowToRunItAgain) {
  EXPECT_EQ("All 12 documents were read before; their results are in out. To process them again, remove them",
            before_text(before_of(12, 12), {}));
  EXPECT_EQ("It was transcribed before; its result is in out. To process it again, remove it",
            before_text(before_of(1, 1), {"recordings", "piece", "pieces", "transcribed"}));
}

Totals totals_of(int documents, int done, int failed) {
  Totals totals;
  totals.documents = documents;
  totals.documents_done = done;
  totals.documents_failed = failed;
  return totals;
}

TEST(BatchTexts, AnInterruptedRunSaysWhatContinuesWhatDoesNotAndWhatIsDone) {
  EXPECT_EQ(
      "Detached: 3 documents continue in the gateway, 20 were not submitted; 12 of 36 are read, in out. "
      "Press Ctrl-C again within 2 s to cancel them.",
      detached_text(totals_of(36, 13, 1), 3, 20, "out"));
  EXPECT_EQ("Detached: 1 document continues in the gateway. Press Ctrl-C again within 2 s to cancel it.",
            detached_text(totals_of(1, 0, 0), 1, 0, ""));
  EXPECT_EQ("Detached: 0 documents continue in the gateway, 1 was not submitted.",
            detached_text(totals_of(1, 0, 0), 0, 1, "out"));
}

TEST(BatchTexts, TheEndSaysWhereTheResultsAreIfThereAreAny) {
  EXPECT_EQ("The results are in out", results_text(totals_of(3, 3, 0), "out"));
  EXPECT_EQ("The result is in out", results_text(totals_of(1, 1, 0), "out"));
  EXPECT_EQ("The results are in out; run the same command again to retry what failed",
            results_text(totals_of(3, 3, 1), "out"));
  EXPECT_EQ("", results_text(totals_of(3, 3, 3), "out"));
  EXPECT_EQ("", results_text(totals_of(3, 3, 0), ""));
}

std::string printed(const DocumentEnd& end, const ReportStyle& style) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  Progress progress(false, true);
  report(end, style, progress);
  return ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
}

TEST(BatchTexts, ADocumentWithWarningsHasAnExclamationMarkInPlaceOfTheTick) {
  DocumentEnd end{"a.pdf", "ocr-1", "out/a.md", "succeeded", 7, "", "", {}};
  EXPECT_EQ(printed(end, {}), "✓ a.pdf → out/a.md, 7 pages\n");
  end.warnings = {{{2}, "other_language", "it looks Greek"},
                  {{1, 2, 3, 4, 5, 6}, "unsure", "row 3\nis doubtful"}};
  EXPECT_EQ(
      printed(end, {}),
      "! a.pdf → out/a.md, 7 pages; page 2: it looks Greek; pages 1, 2, 3, 4, 5, …: row 3 is doubtful\n");
}

TEST(BatchTexts, ARowOfJsonHasTheWarningsWithTheirPages) {
  DocumentEnd end{"a.pdf", "", "", "succeeded", 7, "", "", {}};
  end.warnings = {{{2, 3}, "unsure", "doubtful"}};
  const std::string all = printed(end, {.text_member = "markdown", .as_json = true});
  EXPECT_NE(all.find(R"("warnings":[{"code":"unsure","message":"doubtful","pages":[2,3]}])"),
            std::string::npos)
      << all;
}

TEST(BatchTexts, TheSameWarningOfSeveralPagesIsOne) {
  const auto result = nlohmann::json::parse(R"({"pages":[
      {"index":0,"warnings":[{"code":"unsure","message":"a"}]},{"index":1},
      {"index":4,"warnings":[{"code":"unsure","message":"a"},{"code":"unsure","message":"b"}]}]})");
  const auto warnings = warnings_of(result);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].parts, (std::vector<int>{1, 5}));
  EXPECT_EQ(warnings[1].parts, std::vector<int>{5});
  EXPECT_TRUE(warnings_of(nlohmann::json::object()).empty());
}

}  // namespace
}  // namespace millrace::cli
