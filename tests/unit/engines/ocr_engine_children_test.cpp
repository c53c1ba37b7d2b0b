#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>

#include "tests/support/wait_until.h"
#include "tests/unit/engines/ocr_reading.h"

namespace millrace::engines {
namespace {

using base::Code;
using millrace::support::PdfMaker;
using std::chrono::milliseconds;
using testing::kCallTimeLimit;
using testing::kReportLines;
using testing::OcrCall;
using testing::OcrEngineTest;

TEST_F(OcrEngineTest, APageThatKillsItsChildIsNamedAndTheNextCallGetsANewOne) {
  make();
  auto document = scans_with_a_long_one();
  ASSERT_TRUE(document);
  OcrCall call;
  ASSERT_TRUE(engine_->recognise(*document, {0, 1, 2, 3}, {}, call.on_page(), call.on_end()));
  ASSERT_TRUE(call.wait([&] { return !call.pages.empty(); }));
  ASSERT_TRUE(testing::signal_engine_child(SIGKILL));
  const EngineResult end = call.wait_end();
  EXPECT_EQ(end.kind, EngineResult::Kind::kCrashed) << (end.error ? end.error->message : "");
  EXPECT_EQ(end.page, 1);
  EXPECT_FALSE(call.pages.contains(end.page)) << "completed pages keep their results and are not blamed";
  OcrCall next;
  EXPECT_EQ(recognise(PdfMaker().text_page(kReportLines).bytes(), {0}, next).kind, EngineResult::Kind::kDone);
  EXPECT_EQ(pool_->counts().children_crashed, 1U);
  EXPECT_EQ(pool_->counts().children_started, 2U);
}

TEST_F(OcrEngineTest, APageThatUsesUpItsChildsProcessorTimeFailsAloneByThatBound) {
  make();
  auto document = scans_with_a_long_one();
  ASSERT_TRUE(document);
  OcrCall call;
  ASSERT_TRUE(engine_->recognise(*document, {0, 1, 2, 3}, {}, call.on_page(), call.on_end()));
  ASSERT_TRUE(call.wait([&] { return !call.pages.empty(); }));
  ASSERT_TRUE(testing::signal_engine_child(SIGXCPU));
  ASSERT_EQ(call.wait_end().kind, EngineResult::Kind::kDone);
  ASSERT_EQ(call.pages.size(), 4U);
  for (const auto& [index, page] : call.pages) EXPECT_EQ(page.error.has_value(), index == 1) << index;
  const auto& error = call.pages.at(1).error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::kPageTimeout);
  EXPECT_NE(error->message.find("400 s of processor time"), std::string::npos) << error->message;
}

TEST_F(OcrEngineTest, EachPageReportsItsProcessorTime) {
  make();
  auto document = scans(3, 150);
  ASSERT_TRUE(document);
  OcrCall call;
  ASSERT_TRUE(engine_->recognise(*document, {0, 1, 2}, {}, call.on_page(), call.on_end()));
  ASSERT_EQ(call.wait_end().kind, EngineResult::Kind::kDone);
  for (const auto& [index, page] : call.pages) {
    EXPECT_GT(page.cpu, milliseconds(10)) << index;
    EXPECT_LT(page.cpu, milliseconds(60'000)) << index;
  }
}

TEST_F(OcrEngineTest, AJailThatFailedForAPassingReasonIsTriedAgainWhenAChildStarts) {
  EnginePool::Options options = testing::engine_options();
  if (process::Jail::probe(spawner_, options.jail).confinement != process::Confinement::kNamespaces)
    GTEST_SKIP() << "this host has no namespaces for jails";
  for (const bool is_transient : {true, false}) {
    options.retries_namespaces = is_transient;
    make(options, process::Confinement::kFileRules);
    EXPECT_EQ(pool_->confinement(), process::Confinement::kFileRules);
    OcrCall call;
    EXPECT_EQ(recognise(PdfMaker().text_page(kReportLines).bytes(), {0}, call).kind,
              EngineResult::Kind::kDone);
    EXPECT_EQ(pool_->confinement() == process::Confinement::kNamespaces, is_transient);
  }
}

TEST_F(OcrEngineTest, ACancelledCallEndsAndTheNextIsServed) {
  make();
  auto document = scans_with_a_long_one();
  ASSERT_TRUE(document);
  OcrCall call;
  auto ticket = engine_->recognise(*document, {0, 1, 2, 3}, {}, call.on_page(), call.on_end());
  ASSERT_TRUE(ticket);
  ASSERT_TRUE(call.wait([&] { return !call.pages.empty(); }));
  ticket->cancel();
  EXPECT_EQ(call.wait_end().kind, EngineResult::Kind::kCancelled);
  EXPECT_EQ(call.pages.size(), 1U);
  OcrCall next;
  EXPECT_EQ(recognise(PdfMaker().text_page(kReportLines).bytes(), {0}, next).kind, EngineResult::Kind::kDone);
}

int oom_score_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/oom_score_adj");
  int score = -1;
  file >> score;
  return score;
}

TEST_F(OcrEngineTest, AHostWithoutMemoryTakesAChildRatherThanUs) {
  const int more = std::min(oom_score_of("self") + 500, 1000);
  const auto best = process::Jail::probe(spawner_, {}).confinement;
  for (const auto form : {best, process::Confinement::kFileRules, process::Confinement::kReduced}) {
    make(testing::engine_options(), form);
    OcrCall call;
    ASSERT_EQ(recognise(PdfMaker().text_page(kReportLines).bytes(), {0}, call).kind,
              EngineResult::Kind::kDone);
    const pid_t child = testing::engine_child_of_this_process();
    ASSERT_GT(child, 0);
    EXPECT_EQ(oom_score_of(std::to_string(child)), more);
  }
}

TEST_F(OcrEngineTest, AChildServesManyCalls) {
  auto options = testing::engine_options();
  options.idle_after = kCallTimeLimit;
  make(options);
  const std::string pdf = PdfMaker().text_page(kReportLines).bytes();
  for (int i = 0; i < 3; ++i) {
    OcrCall call;
    ASSERT_EQ(recognise(pdf, {0}, call).kind, EngineResult::Kind::kDone);
  }
  EXPECT_EQ(pool_->counts().children_started, 1U);
  EXPECT_EQ(pool_->counts().children_crashed, 0U);
}

TEST_F(OcrEngineTest, AnIdleChildGoes) {
  auto options = testing::engine_options();
  options.idle_after = milliseconds(1);
  make(options);
  OcrCall call;
  ASSERT_EQ(recognise(PdfMaker().text_page(kReportLines).bytes(), {0}, call).kind, EngineResult::Kind::kDone);
  EXPECT_TRUE(support::wait_until([this] { return pool_->counts().children_running == 0; }, kCallTimeLimit));
  EXPECT_EQ(pool_->counts().children_started, 1U);
  EXPECT_EQ(pool_->counts().children_crashed, 0U);
}

TEST_F(OcrEngineTest, TheEndOfThePoolCancelsWhatRunsAndWaits) {
  auto options = testing::engine_options();
  options.children = 1;
  make(options);
  auto document = scans_with_a_long_one();
  ASSERT_TRUE(document);
  OcrCall running;
  OcrCall waiting;
  const std::vector<int> pages = first_pages(4);
  ASSERT_TRUE(engine_->recognise(*document, pages, {}, running.on_page(), running.on_end()));
  ASSERT_TRUE(engine_->recognise(*document, pages, {}, waiting.on_page(), waiting.on_end()));
  ASSERT_TRUE(running.wait([&] { return !running.pages.empty(); }));
  pool_.reset();
  EXPECT_EQ(running.wait_end().kind, EngineResult::Kind::kCancelled);
  EXPECT_EQ(waiting.wait_end().kind, EngineResult::Kind::kCancelled);
}

TEST_F(OcrEngineTest, AFullQueueRefuses) {
  auto options = testing::engine_options();
  options.children = 1;
  options.queue_max = 1;
  make(options);
  auto document = testing::document_of(PdfMaker().text_page(kReportLines).bytes());
  ASSERT_TRUE(document);
  std::vector<std::unique_ptr<OcrCall>> calls;
  bool refused = false;
  for (int i = 0; i < 50 && !refused; ++i) {
    calls.push_back(std::make_unique<OcrCall>());
    auto ticket = engine_->recognise(*document, {0}, {}, calls.back()->on_page(), calls.back()->on_end());
    if (ticket) continue;
    refused = true;
    EXPECT_EQ(ticket.error().code, Code::kOverloaded);
    calls.pop_back();
  }
  EXPECT_TRUE(refused);
  for (const auto& call : calls) EXPECT_EQ(call->wait_end().kind, EngineResult::Kind::kDone);
}

TEST(EnginePool, AProgramThatIsNotThereIsAnError) {
  process::Spawner spawner;
  auto pool = EnginePool::make(spawner, {.engine_path = "/nonexistent"}, process::Confinement::kReduced);
  ASSERT_FALSE(pool);
}

}  // namespace
}  // namespace millrace::engines
