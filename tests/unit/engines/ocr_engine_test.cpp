#include "ai/engines/ocr_engine.h"

#include <condition_variable>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/support/pdf_maker.h"
#include "tests/support/wait_until.h"
#include "tests/unit/engines/real_documents.h"

namespace millrace::engines {
namespace {

using base::Code;
using millrace::support::PdfMaker;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{120'000};

const std::vector<std::string> kLines{"*Annual Report",
                                      "",
                                      "The gateway accepts every document once and keeps its",
                                      "result until someone reads it. Workers share the pages",
                                      "between them so that a long report is finished sooner.",
                                      "",
                                      "Every range of pages is a task of its own with a lease."};

// Collects a call's callbacks and waits for its end.
struct Call {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, PageOutcome> pages;
  std::optional<EngineEnd> end;
  std::optional<base::Result<DocumentInfo>> info;

  std::function<void(PageOutcome)> on_page() {
    return [this](PageOutcome page) {
      const std::lock_guard lock(mutex);
      EXPECT_FALSE(end) << "a page after the end";
      EXPECT_TRUE(pages.emplace(page.index, std::move(page)).second) << "a page was reported twice";
      changed.notify_all();
    };
  }
  std::function<void(EngineEnd)> on_end() {
    return [this](EngineEnd how) {
      const std::lock_guard lock(mutex);
      EXPECT_FALSE(end) << "two ends";
      end = std::move(how);
      changed.notify_all();
    };
  }
  std::function<void(base::Result<DocumentInfo>)> on_info() {
    return [this](base::Result<DocumentInfo> result) {
      const std::lock_guard lock(mutex);
      info.emplace(std::move(result));
      changed.notify_all();
    };
  }
  bool wait(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kPatience, condition);
  }
  EngineEnd wait_end() {
    EXPECT_TRUE(wait([this] { return end.has_value(); }));
    return end.value_or(EngineEnd{});
  }
};

class OcrEngineTest : public ::testing::Test {
 protected:
  // A document of one scanned page, `count` times.
  base::Result<std::shared_ptr<const Document>> scans(int count, int dpi) {
    const auto raster = testing::raster_of(spawner_, PdfMaker().text_page(kLines, 14).bytes(), dpi);
    PdfMaker maker;
    for (int page = 0; page < count; ++page) maker.scan_page(raster.gray, raster.width, raster.height);
    return testing::document_of(maker.bytes());
  }
  static std::vector<int> first_pages(int count) {
    std::vector<int> pages(static_cast<std::size_t>(count));
    std::iota(pages.begin(), pages.end(), 0);
    return pages;
  }
  void make(OcrEngine::Options options = testing::engine_options()) {
    const auto probe = process::Jail::probe(spawner_, options.jail);
    ASSERT_TRUE(probe.usable) << probe.reason;
    auto engine = OcrEngine::make(spawner_, std::move(options), probe.confinement);
    ASSERT_TRUE(engine) << engine.error().message;
    engine_ = std::move(*engine);
  }

  EngineEnd recognise(const std::string& bytes, const std::vector<int>& pages, Call& call,
                      bool image_data = false) {
    auto document = testing::document_of(bytes);
    if (!document) return {EngineEnd::Kind::kFailed, -1, document.error()};
    auto ticket = engine_->recognise(*document, pages, {image_data}, call.on_page(), call.on_end());
    return ticket ? call.wait_end() : EngineEnd{EngineEnd::Kind::kFailed, -1, ticket.error()};
  }

  Code inspect_error(const std::string& bytes) {
    auto document = testing::document_of(bytes);
    if (!document) return document.error().code;
    Call call;
    EXPECT_TRUE(engine_->inspect(*document, call.on_info()));
    EXPECT_TRUE(call.wait([&] { return call.info.has_value(); }));
    return *call.info ? Code::kInternal : call.info->error().code;
  }

  process::Spawner spawner_;
  std::unique_ptr<OcrEngine> engine_;
};

TEST_F(OcrEngineTest, ReadsTheTextLayerOfAPdf) {
  make();
  Call call;
  const EngineEnd end = recognise(PdfMaker().text_page(kLines).bytes(), {0}, call);
  ASSERT_EQ(end.kind, EngineEnd::Kind::kDone) << (end.error ? end.error->message : "");
  EXPECT_EQ(call.pages.at(0).markdown,
            "### Annual Report\n\nThe gateway accepts every document once and keeps its result until someone "
            "reads it. "
            "Workers share the pages between them so that a long report is finished sooner.\n\nEvery range "
            "of pages is "
            "a task of its own with a lease.");
  ASSERT_TRUE(call.pages.at(0).dimensions);
  EXPECT_EQ(call.pages.at(0).dimensions->dpi, 200);
  EXPECT_EQ(call.pages.at(0).dimensions->height, 2339);
  EXPECT_EQ(call.pages.at(0).dimensions->width, 1653);
}

TEST_F(OcrEngineTest, RecognisesAPngAndAJpeg) {
  make();
  const std::string pdf = PdfMaker().text_page(kLines).bytes();
  for (const std::string format : {"png", "jpeg"}) {
    Call call;
    const EngineEnd end = recognise(testing::picture_of(spawner_, pdf, 150, format), {0}, call);
    ASSERT_EQ(end.kind, EngineEnd::Kind::kDone) << (end.error ? end.error->message : "");
    const std::string& markdown = call.pages.at(0).markdown;
    EXPECT_NE(markdown.find("The gateway accepts every document once and keeps its result until"),
              std::string::npos)
        << markdown;
    EXPECT_EQ(call.pages.at(0).dimensions->height, 1755);
  }
}

TEST_F(OcrEngineTest, RecognisesAScannedPageAndTheSamePageOnItsSide) {
  make();
  const auto raster = testing::raster_of(spawner_, PdfMaker().text_page(kLines, 14).bytes(), 150);
  const auto side = testing::turned_right(raster);
  PdfMaker maker;
  maker.scan_page(raster.gray, raster.width, raster.height).scan_page(side.gray, side.width, side.height);
  Call call;
  const EngineEnd end = recognise(maker.bytes(), {0, 1}, call);
  ASSERT_EQ(end.kind, EngineEnd::Kind::kDone) << (end.error ? end.error->message : "");
  for (const int page : {0, 1}) {
    EXPECT_NE(call.pages.at(page).markdown.find("result until someone reads it."), std::string::npos)
        << page << ": " << call.pages.at(page).markdown;
  }
}

TEST_F(OcrEngineTest, ReadsWhereThereAreNoNamespaces) {
  const std::string pdf = PdfMaker().text_page(kLines).bytes();
  const std::string png = testing::picture_of(spawner_, pdf, 150, "png");
  for (const auto form : {process::Confinement::kFileRules, process::Confinement::kReduced}) {
    auto engine = OcrEngine::make(spawner_, testing::engine_options(), form);
    ASSERT_TRUE(engine);
    engine_ = std::move(*engine);
    for (const std::string& bytes : {pdf, png}) {
      Call call;
      const EngineEnd end = recognise(bytes, {0}, call);
      ASSERT_EQ(end.kind, EngineEnd::Kind::kDone) << (end.error ? end.error->message : "");
      EXPECT_NE(call.pages.at(0).markdown.find("The gateway accepts every document"), std::string::npos);
    }
    EXPECT_EQ(engine_->counts().children_crashed, 0U);
  }
}

TEST_F(OcrEngineTest, TellsWhatADocumentIs) {
  make();
  auto document = testing::document_of(PdfMaker().text_page(kLines).text_page(kLines).bytes());
  ASSERT_TRUE(document);
  Call call;
  ASSERT_TRUE(engine_->inspect(*document, call.on_info()));
  ASSERT_TRUE(call.wait([&] { return call.info.has_value(); }));
  ASSERT_TRUE(*call.info) << call.info->error().message;
  EXPECT_EQ(call.info->value().pages, 2);
  EXPECT_EQ(call.info->value().media, schemas::Media::kPdf);
}

TEST_F(OcrEngineTest, EachBadDocumentHasItsOwnCode) {
  auto options = testing::engine_options();
  options.limits.pages_max = 2;
  make(options);
  const std::string good = PdfMaker().text_page(kLines).bytes();
  EXPECT_EQ(inspect_error(""), Code::kDocumentEmpty);
  EXPECT_EQ(inspect_error("plain text"), Code::kDocumentUnsupported);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kLines).encrypt().bytes()), Code::kDocumentEncrypted);
  EXPECT_EQ(inspect_error(good.substr(0, good.size() / 2)), Code::kDocumentDamaged);
  EXPECT_EQ(inspect_error("%PDF-1.7\n" + std::string(2000, 'x')), Code::kDocumentDamaged);
  EXPECT_EQ(inspect_error("\x89PNG\r\n\x1a\n and then nothing of the kind"), Code::kDocumentDamaged);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kLines).claim_pages(2).bytes()), Code::kDocumentPageCount);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kLines).claim_pages(100'000'000).bytes()),
            Code::kDocumentPageCount);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kLines).claim_pages(-7).bytes()), Code::kDocumentPageCount);
  const auto three = PdfMaker().text_page(kLines).text_page(kLines).text_page(kLines);
  EXPECT_EQ(inspect_error(PdfMaker(three).claim_pages(1).bytes()), Code::kDocumentPageCount);
  EXPECT_EQ(inspect_error(three.bytes()), Code::kDocumentTooManyPages);
  EXPECT_EQ(inspect_error(millrace::support::png_head(20'000, 20'000)), Code::kImageTooLarge);
}

TEST_F(OcrEngineTest, ABombIsRefusedWithinItsBounds) {
  auto options = testing::engine_options();
  options.limits.poppler_cpu = milliseconds(1000);
  make(options);
  Call call;
  const EngineEnd end = recognise(PdfMaker().bomb_page(9).bytes(), {0}, call);
  ASSERT_EQ(end.kind, EngineEnd::Kind::kFailed);
  EXPECT_EQ(end.error->code, Code::kDocumentBomb) << end.error->message;
  EXPECT_TRUE(call.pages.empty());
  Call next;
  EXPECT_EQ(recognise(PdfMaker().text_page(kLines).bytes(), {0}, next).kind, EngineEnd::Kind::kDone);
}

TEST_F(OcrEngineTest, AHugePageIsDrawnSmaller) {
  make();
  Call call;
  const EngineEnd end = recognise(PdfMaker().page("0 0 m 14400 14400 l S", 14400, 7200).bytes(), {0}, call);
  ASSERT_EQ(end.kind, EngineEnd::Kind::kDone) << (end.error ? end.error->message : "");
  ASSERT_FALSE(call.pages.at(0).error) << call.pages.at(0).error->message;
  EXPECT_EQ(call.pages.at(0).dimensions->width, 3500);
  EXPECT_EQ(call.pages.at(0).dimensions->dpi, 17);
}

TEST_F(OcrEngineTest, APageThatTakesTooLongFailsAloneAndTheOthersAreRead) {
  auto options = testing::engine_options();
  options.limits.page_cpu = milliseconds(1);
  make(options);
  const auto raster = testing::raster_of(spawner_, PdfMaker().text_page(kLines, 14).bytes(), 100);
  const std::string pdf = PdfMaker()
                              .text_page(kLines)
                              .scan_page(raster.gray, raster.width, raster.height)
                              .text_page(kLines)
                              .bytes();
  Call call;
  EXPECT_EQ(recognise(pdf, {0, 1, 2}, call).kind, EngineEnd::Kind::kDone);
  ASSERT_EQ(call.pages.size(), 3U);
  ASSERT_TRUE(call.pages.at(1).error);
  EXPECT_EQ(call.pages.at(1).error->code, Code::kPageTimeout);
  EXPECT_EQ(call.pages.at(1).markdown, "");
  EXPECT_FALSE(call.pages.at(0).error);
  EXPECT_FALSE(call.pages.at(2).error);
}

TEST_F(OcrEngineTest, APageOutsideTheDocumentIsRefused) {
  make();
  Call call;
  const EngineEnd end = recognise(PdfMaker().text_page(kLines).bytes(), {0, 1}, call);
  ASSERT_EQ(end.kind, EngineEnd::Kind::kFailed);
  EXPECT_EQ(end.error->code, Code::kInvalidField);
}

TEST_F(OcrEngineTest, PicturesAreListedAndDeliveredOnRequest) {
  make();
  std::string gray;
  for (int i = 0; i < 64 * 64; ++i) gray += static_cast<char>(40 + i % 120);
  const std::string pdf = PdfMaker().picture_page(kLines, gray, 64, 64).bytes();
  for (const bool wanted : {false, true}) {
    Call call;
    ASSERT_EQ(recognise(pdf, {0}, call, wanted).kind, EngineEnd::Kind::kDone);
    const PageOutcome& page = call.pages.at(0);
    ASSERT_EQ(page.images.size(), 1U) << page.markdown;
    // 200 × 150 points at 200 dpi, its lower left corner at (100, 300) points.
    EXPECT_NEAR(page.images[0].x0, 278, 6);
    EXPECT_NEAR(page.images[0].x1, 833, 6);
    EXPECT_NEAR(page.images[0].y1, 1506, 6);
    EXPECT_NE(page.markdown.find("![img-0-0.jpeg](img-0-0.jpeg)"), std::string::npos) << page.markdown;
    EXPECT_EQ(page.images[0].data_uri.starts_with("data:image/jpeg;base64,/9j/"), wanted);
  }
}

TEST_F(OcrEngineTest, APageThatKillsItsChildIsNamedAndTheNextCallGetsANewOne) {
  make();
  const std::vector<int> pages = first_pages(8);
  auto document = scans(8, 100);
  ASSERT_TRUE(document);
  Call call;
  ASSERT_TRUE(engine_->recognise(*document, pages, {}, call.on_page(), call.on_end()));
  ASSERT_TRUE(call.wait([&] { return !call.pages.empty(); }));
  const pid_t child = testing::engine_child_of_this_process();
  ASSERT_GT(child, 0);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  const EngineEnd end = call.wait_end();
  EXPECT_EQ(end.kind, EngineEnd::Kind::kCrashed) << (end.error ? end.error->message : "");
  EXPECT_GT(end.page, 0);
  EXPECT_FALSE(call.pages.contains(end.page)) << "what was done before stands, and is not blamed";
  Call next;
  EXPECT_EQ(recognise(PdfMaker().text_page(kLines).bytes(), {0}, next).kind, EngineEnd::Kind::kDone);
  EXPECT_EQ(engine_->counts().children_crashed, 1U);
  EXPECT_EQ(engine_->counts().children_started, 2U);
}

TEST_F(OcrEngineTest, APageThatUsesUpItsChildsProcessorTimeFailsAloneByThatBound) {
  make();
  auto document = scans(4, 100);
  ASSERT_TRUE(document);
  Call call;
  ASSERT_TRUE(engine_->recognise(*document, {0, 1, 2, 3}, {}, call.on_page(), call.on_end()));
  ASSERT_TRUE(call.wait([&] { return !call.pages.empty(); }));
  ASSERT_EQ(::kill(testing::engine_child_of_this_process(), SIGXCPU), 0);
  ASSERT_EQ(call.wait_end().kind, EngineEnd::Kind::kDone);
  int failed = 0;
  for (const auto& [index, page] : call.pages) {
    if (!page.error) continue;
    ++failed;
    EXPECT_EQ(page.error->code, Code::kPageTimeout);
    EXPECT_NE(page.error->message.find("40 s of processor time"), std::string::npos) << page.error->message;
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(call.pages.size(), 4U);
}

TEST_F(OcrEngineTest, ACancelledCallEndsAndTheNextIsServed) {
  make();
  const std::vector<int> pages = first_pages(16);
  auto document = scans(16, 150);
  ASSERT_TRUE(document);
  Call call;
  auto ticket = engine_->recognise(*document, pages, {}, call.on_page(), call.on_end());
  ASSERT_TRUE(ticket);
  ASSERT_TRUE(call.wait([&] { return !call.pages.empty(); }));
  ticket->cancel();
  EXPECT_EQ(call.wait_end().kind, EngineEnd::Kind::kCancelled);
  EXPECT_LT(call.pages.size(), 16U);
  Call next;
  EXPECT_EQ(recognise(PdfMaker().text_page(kLines).bytes(), {0}, next).kind, EngineEnd::Kind::kDone);
}

TEST_F(OcrEngineTest, AChildServesManyCallsAndGoesWhenItIsIdle) {
  auto options = testing::engine_options();
  options.idle_after = milliseconds(1500);
  make(options);
  const std::string pdf = PdfMaker().text_page(kLines).bytes();
  for (int i = 0; i < 3; ++i) {
    Call call;
    ASSERT_EQ(recognise(pdf, {0}, call).kind, EngineEnd::Kind::kDone);
  }
  EXPECT_EQ(engine_->counts().children_started, 1U);
  EXPECT_TRUE(support::wait_until([this] { return engine_->counts().children_running == 0; }, kPatience));
  EXPECT_EQ(engine_->counts().children_crashed, 0U);
}

TEST_F(OcrEngineTest, TheEndOfTheEngineCancelsWhatRunsAndWaits) {
  auto options = testing::engine_options();
  options.children = 1;
  make(options);
  auto document = scans(20, 150);
  ASSERT_TRUE(document);
  Call running;
  Call waiting;
  const std::vector<int> pages = first_pages(20);
  ASSERT_TRUE(engine_->recognise(*document, pages, {}, running.on_page(), running.on_end()));
  ASSERT_TRUE(engine_->recognise(*document, pages, {}, waiting.on_page(), waiting.on_end()));
  ASSERT_TRUE(running.wait([&] { return !running.pages.empty(); }));
  engine_.reset();
  EXPECT_EQ(running.wait_end().kind, EngineEnd::Kind::kCancelled);
  EXPECT_EQ(waiting.wait_end().kind, EngineEnd::Kind::kCancelled);
}

TEST_F(OcrEngineTest, AFullQueueRefuses) {
  auto options = testing::engine_options();
  options.children = 1;
  options.queue_max = 1;
  make(options);
  auto document = testing::document_of(PdfMaker().text_page(kLines).bytes());
  ASSERT_TRUE(document);
  std::vector<std::unique_ptr<Call>> calls;
  bool refused = false;
  for (int i = 0; i < 50 && !refused; ++i) {
    calls.push_back(std::make_unique<Call>());
    auto ticket = engine_->recognise(*document, {0}, {}, calls.back()->on_page(), calls.back()->on_end());
    if (ticket) continue;
    refused = true;
    EXPECT_EQ(ticket.error().code, Code::kOverloaded);
    calls.pop_back();
  }
  EXPECT_TRUE(refused);
  for (const auto& call : calls) EXPECT_EQ(call->wait_end().kind, EngineEnd::Kind::kDone);
}

TEST(OcrEngine, AProgramThatIsNotThereIsAnError) {
  process::Spawner spawner;
  auto engine = OcrEngine::make(spawner, {.engine_path = "/nonexistent"}, process::Confinement::kReduced);
  ASSERT_FALSE(engine);
}

}  // namespace
}  // namespace millrace::engines
