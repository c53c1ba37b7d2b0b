#include <filesystem>

#include <gtest/gtest.h>

#include "tests/unit/workers/ocr_fixture.h"
#include "workers/ocr/ocr_run.h"

namespace millrace::workers {
namespace {

using base::Code;
using schemas::JobStatus;

TEST(OcrRunner, ASmallDocumentIsReadInOneAttempt) {
  OcrFixture ocr;
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  const auto reply = ocr.reply(job);
  EXPECT_EQ(reply.at("model"), "vendor-ocr-latest");
  ASSERT_EQ(reply.at("pages").size(), 3U);
  EXPECT_EQ(reply["pages"][1]["markdown"], "page 1");
  EXPECT_EQ(reply["pages"][1]["dimensions"]["dpi"], 200);
  EXPECT_EQ(reply["usage_info"]["pages_processed"], 3);
  EXPECT_EQ(reply["usage_info"]["doc_size_bytes"], 20);
  EXPECT_EQ(ocr.fixture.view(job).progress_done, 3);
  EXPECT_EQ(ocr.fixture.view(job).progress_total, 3);
}

TEST(OcrRunner, OnlyTheChosenPagesAreRead) {
  OcrFixture ocr;
  const auto job = ocr.submit_small({2});
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(ocr.reply(job).at("pages").size(), 1U);
  EXPECT_EQ(ocr.engine->reads_of(0), 0);
}

TEST(OcrRunner, APageOutOfRangeIsAnInvalidField) {
  OcrFixture ocr;
  const auto job = ocr.submit_small({7});
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(ocr.fixture.view(job).error->code, Code::kInvalidField);
  EXPECT_EQ(ocr.fixture.view(job).error->param, "pages");
  EXPECT_EQ(ocr.engine->calls(), 0);
}

TEST(OcrRunner, ADocumentsOwnFaultFailsItAtOnce) {
  OcrFixture ocr(
      [](ScriptedEngine& e) { e.refuses = base::error(Code::kDocumentEncrypted, "it has a password"); });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(ocr.fixture.view(job).error->code, Code::kDocumentEncrypted);
  EXPECT_EQ(ocr.fixture.view(job).error->param, schemas::kDocumentField);
  EXPECT_EQ(ocr.fixture.view(job).attempt, 1);
}

TEST(OcrRunner, TheLocalEngineReadsNoJobOfAnotherModel) {
  OcrFixture ocr;
  for (const bool by_provider : {true, false}) {
    schemas::OcrSpec spec;
    spec.model = "team/reader";
    spec.by_provider = by_provider;
    spec.inline_document = "%PDF-1.4";
    const auto job = ocr.submit(std::move(spec));
    ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kFailed));
    EXPECT_EQ(ocr.fixture.view(job).error->code, Code::kModelNotFound);
    EXPECT_EQ(ocr.fixture.view(job).attempt, 1);
  }
  EXPECT_EQ(ocr.engine->calls(), 0);
}

TEST(OcrRunner, AJobOfAProvidersModelThatHasGoneIsNotReadHereUnderItsName) {
  OcrFixture ocr;
  schemas::OcrSpec spec;
  spec.model = "mistral-ocr-latest";  // a provider had this model when the job was accepted
  spec.by_provider = true;
  spec.inline_document = "%PDF-1.4";
  ASSERT_TRUE(ocr.fixture.reaches(ocr.submit(std::move(spec)), JobStatus::kFailed));
  EXPECT_EQ(ocr.engine->calls(), 0);
}

TEST(OcrRunner, ALargeDocumentIsSplitAndMerged) {
  OcrFixture ocr([](ScriptedEngine& e) { e.pages = 21; });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  const auto reply = ocr.reply(job);
  ASSERT_EQ(reply.at("pages").size(), 21U);
  for (int page = 0; page < 21; ++page) {
    EXPECT_EQ(reply["pages"][static_cast<std::size_t>(page)]["index"], page);
    EXPECT_EQ(ocr.engine->reads_of(page), 1);
  }
  EXPECT_EQ(ocr.engine->calls(), 3);
  EXPECT_EQ(ocr.fixture.view(job).progress_total, 21);
}

TEST(OcrRunner, PagesAboveTheInlineBoundTravelAsBlobs) {
  OcrFixture ocr([](ScriptedEngine& e) { e.page_bytes = 50'000; });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_GT(ocr.reply(job)["pages"][2]["markdown"].get<std::string>().size(), 50'000U);
}

TEST(OcrRunner, AReplyAboveItsBoundFailsTheJobWithTheSettingsName) {
  OcrFixture ocr([](ScriptedEngine& e) { e.page_bytes = 50'000; }, {.reply_bytes_max = 100'000});
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kFailed));
  const auto view = ocr.fixture.view(job);
  EXPECT_EQ(view.error->code, Code::kDocumentTooLarge);
  EXPECT_NE(view.error->message.find("ocr.reply_max"), std::string::npos) << view.error->message;
  EXPECT_EQ(view.attempt, 1);
}

TEST(OcrRunner, AReplyJustWithinItsBoundIsDelivered) {
  OcrFixture free([](ScriptedEngine& e) { e.page_bytes = 50'000; });
  const auto first = free.submit_small();
  ASSERT_TRUE(free.fixture.reaches(first, JobStatus::kSucceeded));
  const auto bytes = static_cast<std::int64_t>(free.reply(first).dump().size());
  OcrFixture bound([](ScriptedEngine& e) { e.page_bytes = 50'000; }, {.reply_bytes_max = bytes + 200});
  const auto second = bound.submit_small();
  ASSERT_TRUE(bound.fixture.reaches(second, JobStatus::kSucceeded));
  EXPECT_EQ(bound.reply(second), free.reply(first));
}

TEST(OcrRunner, ADocumentWithoutAGoodPageLeavesNoFileBehind) {
  OcrFixture ocr([](ScriptedEngine& e) {
    for (int page = 0; page < e.pages; ++page) {
      e.failing[page] = base::error(Code::kPageTimeout, std::string(20'000, 'x'));
    }
  });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(ocr.fixture.view(job).error->code, Code::kPageTimeout);
  EXPECT_TRUE(std::filesystem::is_empty(ocr.fixture.dir.path() / "blobs" / "incoming"));
}

TEST(OcrRunner, AFailedPageLeavesTheOthers) {
  OcrFixture ocr([](ScriptedEngine& e) { e.failing[1] = base::error(Code::kPageTimeout, "too slow"); });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  const auto reply = ocr.reply(job);
  EXPECT_EQ(reply["pages"][1]["error"]["code"], "page_timeout");
  EXPECT_EQ(reply["pages"][1]["dimensions"], nullptr);
  EXPECT_EQ(reply["usage_info"]["pages_processed"], 2);
}

TEST(OcrRunner, ADocumentWithoutAGoodPageFailsWithTheFirstError) {
  OcrFixture ocr([](ScriptedEngine& e) {
    e.pages = 1;
    e.failing[0] = base::error(Code::kPageTimeout, "too slow");
  });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(ocr.fixture.view(job).error->code, Code::kPageTimeout);
}

TEST(OcrRunner, TheRangesOfADocumentShareItsEngineTimeAndThePagesBeyondItFail) {
  OcrFixture f(
      [](ScriptedEngine& engine) {
        engine.pages = 6;
        engine.page_cpu = std::chrono::seconds(4);
      },
      {.range_pages = 2, .engine_time = std::chrono::seconds(10)}, 1);
  const auto job = f.submit_small();
  ASSERT_TRUE(f.fixture.reaches(job, JobStatus::kSucceeded));
  const auto pages = f.reply(job)["pages"];
  ASSERT_EQ(pages.size(), 6U);
  for (std::size_t page = 0; page < 4; ++page) EXPECT_FALSE(pages[page].contains("error")) << page;
  for (std::size_t page = 4; page < 6; ++page) {
    ASSERT_TRUE(pages[page].contains("error")) << page;
    EXPECT_EQ(pages[page]["error"]["code"], "page_timeout");
    const auto message = pages[page]["error"]["message"].get<std::string>();
    EXPECT_NE(message.find("10 s of processor time (ocr.engine_time)"), std::string::npos) << message;
    EXPECT_EQ(f.engine->reads_of(static_cast<int>(page)), 0);
  }
}

TEST(OcrRunner, RangesThatRunAtOnceShareTheEngineTime) {
  OcrFixture f(
      [](ScriptedEngine& engine) {
        engine.pages = 4;
        engine.page_cpu = std::chrono::seconds(6);
        engine.waits_after = 1;
      },
      {.range_pages = 2, .engine_time = std::chrono::seconds(10)});
  const auto job = f.submit_small();
  ASSERT_TRUE(f.fixture.reaches(job, JobStatus::kSucceeded)) << "neither range has used 10 s alone";
  const auto pages = f.reply(job)["pages"];
  ASSERT_EQ(pages.size(), 4U);
  for (std::size_t page = 0; page < 4; ++page)
    EXPECT_EQ(pages[page].contains("error"), page % 2 == 1) << page;
}

TEST(OcrRunner, APageInProgressIsStoppedWhenTheEngineTimeIsUsedUp) {
  OcrFixture f(
      [](ScriptedEngine& engine) {
        engine.page_cpu = std::chrono::seconds(6);
        engine.waits_after = 2;
      },
      {.engine_time = std::chrono::seconds(10)});
  const auto job = f.submit_small();
  ASSERT_TRUE(f.fixture.reaches(job, JobStatus::kSucceeded));
  const auto pages = f.reply(job)["pages"];
  EXPECT_FALSE(pages[1].contains("error"));
  EXPECT_EQ(pages[2]["error"]["code"], "page_timeout");
}

TEST(OcrRunner, APageThatEndsItsChildFailsAloneAfterThreeCrashes) {
  OcrFixture ocr([](ScriptedEngine& e) { e.killers = {1}; });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  const auto reply = ocr.reply(job);
  EXPECT_EQ(reply["pages"][0]["markdown"], "page 0");
  EXPECT_EQ(reply["pages"][1]["error"]["code"], "page_failed");
  EXPECT_EQ(reply["pages"][2]["markdown"], "page 2");
  EXPECT_EQ(ocr.engine->reads_of(0), 1);
  EXPECT_EQ(ocr.engine->reads_of(1), 3);
  EXPECT_EQ(ocr.engine->reads_of(2), 1);
}

TEST(OcrRunner, ARangeOfASplitDocumentThatEndsItsChildIsTriedAgainAlone) {
  OcrFixture ocr(
      [](ScriptedEngine& e) {
        e.pages = 6;
        e.killers = {3};
      },
      {.range_pages = 2});
  const auto job = ocr.submit_small();
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  const auto reply = ocr.reply(job);
  EXPECT_EQ(reply["usage_info"]["pages_processed"], 5);
  EXPECT_EQ(reply["pages"][3]["error"]["code"], "page_failed");
  for (const int page : {0, 1, 2, 4, 5}) EXPECT_EQ(ocr.engine->reads_of(page), 1) << page;
  EXPECT_EQ(ocr.engine->reads_of(3), 3);
}

TEST(OcrRunner, ADocumentByUrlIsFetchedOnce) {
  OcrFixture ocr([](ScriptedEngine& e) {
    e.pages = 2;
    e.killers = {1};
  });
  ocr.urls.emplace("https://example.org/a.pdf", std::string("%PDF-1.4 fetched"));
  schemas::OcrSpec spec;
  spec.document_url = "https://example.org/a.pdf";
  const auto job = ocr.submit(spec);
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(ocr.fetches, 1);
  EXPECT_EQ(ocr.reply(job)["usage_info"]["doc_size_bytes"], 16);
}

TEST(OcrRunner, ARefusedUrlFailsAndAnUnreachableOneIsTriedAgain) {
  OcrFixture ocr;
  ocr.urls.emplace("https://refused", base::error(Code::kFetchRefused, "a private address", "document_url"));
  base::Error later = base::error(Code::kFetchFailed, "503");
  later.retry_after = std::chrono::milliseconds(1);
  ocr.urls.emplace("https://down", later);
  schemas::OcrSpec refused, down;
  refused.document_url = "https://refused";
  down.document_url = "https://down";
  const auto first = ocr.submit(refused);
  const auto second = ocr.submit(down);
  EXPECT_TRUE(ocr.fixture.reaches(first, JobStatus::kFailed));
  EXPECT_EQ(ocr.fixture.view(first).error->code, Code::kFetchRefused);
  EXPECT_EQ(ocr.fixture.view(first).error->param, schemas::kDocumentField);
  EXPECT_EQ(ocr.fixture.view(first).attempt, 1);
  ASSERT_TRUE(ocr.fixture.reaches(second, JobStatus::kFailed));
  EXPECT_EQ(ocr.fixture.view(second).error->code, Code::kFetchFailed);
  EXPECT_EQ(ocr.fixture.view(second).attempt, jobs::policy(schemas::Kind::kOcr).attempts_max);
}

// A blob that throws at its first opening, as a library does when memory is exhausted.
class ThrowingOnce final : public storage::StagedBlob {
 public:
  explicit ThrowingOnce(storage::Staged real) : real_(std::move(real)) {}
  const storage::BlobRef& ref() const override { return real_->ref(); }
  void set_referenced(bool is_referenced) override { real_->set_referenced(is_referenced); }
  base::Result<storage::OpenFile> open() const override { throw std::bad_alloc(); }

 private:
  storage::Staged real_;
};

TEST(OcrRunner, AStepThatThrowsEndsTheAttemptAndTheNextOneSucceeds) {
  OcrFixture ocr;
  const std::string url = "https://example.org/a.pdf";
  ocr.urls.emplace(url, std::string("%PDF-1.4 fetched"));
  ocr.wrap = [](storage::Staged staged) { return std::make_shared<ThrowingOnce>(std::move(staged)); };
  schemas::OcrSpec spec;
  spec.document_url = url;
  const auto job = ocr.submit(spec);
  ASSERT_TRUE(ocr.fixture.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(ocr.fixture.view(job).attempt, 2);
  const auto events = storage::JobQueries(*ocr.fixture.store).events("default", job, 0, 100);
  ASSERT_TRUE(events);
  const bool told = std::any_of(events->begin(), events->end(), [](const schemas::JobEvent& event) {
    return event.data.find(base::name(Code::kInternal)) != std::string::npos;
  });
  EXPECT_TRUE(told) << "the event of the retry must contain the reason";
}

TEST(OcrRunner, ACancelEndsTheEnginesCallWithinAHeartbeat) {
  OcrFixture ocr([](ScriptedEngine& e) { e.hangs = true; });
  const auto job = ocr.submit_small();
  ASSERT_TRUE(support::wait_until([&] { return ocr.engine->calls() == 1; }));
  Answer<schemas::JobView> cancelled;
  storage::JobIntake(*ocr.fixture.store).cancel({"default"}, job, cancelled.take());
  ASSERT_TRUE(cancelled.wait());
  EXPECT_TRUE(ocr.fixture.reaches(job, JobStatus::kCancelled));
}

}  // namespace
}  // namespace millrace::workers
