#include "tests/unit/engines/ocr_reading.h"

namespace millrace::engines {
namespace {

using base::Code;
using millrace::support::PdfMaker;
using std::chrono::milliseconds;
using testing::kReportLines;
using testing::OcrCall;
using testing::OcrEngineTest;

TEST_F(OcrEngineTest, ReadsTheTextLayerOfAPdf) {
  make();
  OcrCall call;
  const EngineResult end = recognise(PdfMaker().text_page(kReportLines).bytes(), {0}, call);
  ASSERT_EQ(end.kind, EngineResult::Kind::kDone) << (end.error ? end.error->message : "");
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
  const std::string pdf = PdfMaker().text_page(kReportLines).bytes();
  for (const std::string format : {"png", "jpeg"}) {
    OcrCall call;
    const EngineResult end = recognise(testing::picture_of(spawner_, pdf, 150, format), {0}, call);
    ASSERT_EQ(end.kind, EngineResult::Kind::kDone) << (end.error ? end.error->message : "");
    const std::string& markdown = call.pages.at(0).markdown;
    EXPECT_NE(markdown.find("The gateway accepts every document once and keeps its result until"),
              std::string::npos)
        << markdown;
    EXPECT_EQ(call.pages.at(0).dimensions->height, 1755);
  }
}

TEST_F(OcrEngineTest, RecognisesAScannedPageAndTheSamePageOnItsSide) {
  make();
  const auto raster = testing::raster_of(spawner_, PdfMaker().text_page(kReportLines, 14).bytes(), 150);
  const auto side = testing::turned_right(raster);
  PdfMaker maker;
  maker.scan_page(raster.gray, raster.width, raster.height).scan_page(side.gray, side.width, side.height);
  OcrCall call;
  const EngineResult end = recognise(maker.bytes(), {0, 1}, call);
  ASSERT_EQ(end.kind, EngineResult::Kind::kDone) << (end.error ? end.error->message : "");
  for (const int page : {0, 1}) {
    // The recogniser guesses letters whose lower and upper case have the same shape. The guess differs
    // between processors.
    EXPECT_NE(call.pages.at(page).markdown.find("The gateway accepts every document once and keep"),
              std::string::npos)
        << page << ": " << call.pages.at(page).markdown;
  }
}

TEST_F(OcrEngineTest, ReadsWhereThereAreNoNamespaces) {
  const std::string pdf = PdfMaker().text_page(kReportLines).bytes();
  const std::string png = testing::picture_of(spawner_, pdf, 150, "png");
  for (const auto form : {process::Confinement::kFileRules, process::Confinement::kReduced}) {
    make(testing::engine_options(), form);
    for (const std::string& bytes : {pdf, png}) {
      OcrCall call;
      const EngineResult end = recognise(bytes, {0}, call);
      ASSERT_EQ(end.kind, EngineResult::Kind::kDone) << (end.error ? end.error->message : "");
      EXPECT_NE(call.pages.at(0).markdown.find("The gateway accepts every document"), std::string::npos);
    }
    EXPECT_EQ(pool_->counts().children_crashed, 0U);
  }
}

TEST_F(OcrEngineTest, DetectsWhatADocumentIs) {
  make();
  auto document = testing::document_of(PdfMaker().text_page(kReportLines).text_page(kReportLines).bytes());
  ASSERT_TRUE(document);
  OcrCall call;
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
  const std::string good = PdfMaker().text_page(kReportLines).bytes();
  EXPECT_EQ(inspect_error(""), Code::kDocumentEmpty);
  EXPECT_EQ(inspect_error("plain text"), Code::kDocumentUnsupported);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kReportLines).encrypt().bytes()), Code::kDocumentEncrypted);
  EXPECT_EQ(inspect_error(good.substr(0, good.size() / 2)), Code::kDocumentDamaged);
  EXPECT_EQ(inspect_error("%PDF-1.7\n" + std::string(2000, 'x')), Code::kDocumentDamaged);
  EXPECT_EQ(inspect_error("\x89PNG\r\n\x1a\n and then nothing of the kind"), Code::kDocumentDamaged);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kReportLines).claim_pages(2).bytes()),
            Code::kDocumentPageCount);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kReportLines).claim_pages(100'000'000).bytes()),
            Code::kDocumentPageCount);
  EXPECT_EQ(inspect_error(PdfMaker().text_page(kReportLines).claim_pages(-7).bytes()),
            Code::kDocumentPageCount);
  const auto three = PdfMaker().text_page(kReportLines).text_page(kReportLines).text_page(kReportLines);
  EXPECT_EQ(inspect_error(PdfMaker(three).claim_pages(1).bytes()), Code::kDocumentPageCount);
  EXPECT_EQ(inspect_error(three.bytes()), Code::kDocumentTooManyPages);
  EXPECT_EQ(inspect_error(millrace::support::png_head(20'000, 20'000)), Code::kImageTooLarge);
}

TEST_F(OcrEngineTest, ABombIsRefusedWithinItsBounds) {
  auto options = testing::engine_options();
  options.limits.poppler_cpu = milliseconds(1000);
  make(options);
  OcrCall call;
  const EngineResult end = recognise(PdfMaker().bomb_page(9).bytes(), {0}, call);
  ASSERT_EQ(end.kind, EngineResult::Kind::kFailed);
  EXPECT_EQ(end.error->code, Code::kDocumentBomb) << end.error->message;
  EXPECT_TRUE(call.pages.empty());
  OcrCall next;
  EXPECT_EQ(recognise(PdfMaker().text_page(kReportLines).bytes(), {0}, next).kind, EngineResult::Kind::kDone);
}

TEST_F(OcrEngineTest, AHugePageIsDrawnSmaller) {
  make();
  OcrCall call;
  const EngineResult end =
      recognise(PdfMaker().page("0 0 m 14400 14400 l S", 14400, 7200).bytes(), {0}, call);
  ASSERT_EQ(end.kind, EngineResult::Kind::kDone) << (end.error ? end.error->message : "");
  ASSERT_FALSE(call.pages.at(0).error) << call.pages.at(0).error->message;
  EXPECT_EQ(call.pages.at(0).dimensions->width, 3500);
  EXPECT_EQ(call.pages.at(0).dimensions->dpi, 17);
}

TEST_F(OcrEngineTest, APageThatTakesTooLongFailsAloneAndTheOthersAreRead) {
  auto options = testing::engine_options();
  options.limits.page_cpu = milliseconds(1);
  make(options);
  const auto raster = testing::raster_of(spawner_, PdfMaker().text_page(kReportLines, 14).bytes(), 100);
  const std::string pdf = PdfMaker()
                              .text_page(kReportLines)
                              .scan_page(raster.gray, raster.width, raster.height)
                              .text_page(kReportLines)
                              .bytes();
  OcrCall call;
  EXPECT_EQ(recognise(pdf, {0, 1, 2}, call).kind, EngineResult::Kind::kDone);
  ASSERT_EQ(call.pages.size(), 3U);
  ASSERT_TRUE(call.pages.at(1).error);
  EXPECT_EQ(call.pages.at(1).error->code, Code::kPageTimeout);
  EXPECT_EQ(call.pages.at(1).markdown, "");
  EXPECT_FALSE(call.pages.at(0).error);
  EXPECT_FALSE(call.pages.at(2).error);
}

// How long a machine takes for the first lines is not known, so the limit grows until some are read.
TEST_F(OcrEngineTest, APageThatTakesTooLongEndsWithWhatWasRead) {
  const auto raster = dense_page();
  const std::string pdf =
      PdfMaker().scan_page(raster.gray, raster.width, raster.height).text_page(kReportLines).bytes();
  auto options = testing::engine_options();
  std::map<int, PageOutcome> pages;
  for (milliseconds limit(500); limit < milliseconds(60'000); limit = limit * 3 / 2) {
    options.limits.page_cpu = limit;
    make(options);
    OcrCall call;
    ASSERT_EQ(recognise(pdf, {0, 1}, call).kind, EngineResult::Kind::kDone);
    ASSERT_EQ(call.pages.size(), 2U);
    pages = std::move(call.pages);
    if (!pages.at(0).error) break;
    EXPECT_EQ(pages.at(0).error->code, Code::kPageTimeout);
  }
  ASSERT_FALSE(pages.at(0).error) << pages.at(0).error->message;
  EXPECT_NE(pages.at(0).markdown.find("millers"), std::string::npos);
  ASSERT_EQ(pages.at(0).warnings.size(), 1U);
  EXPECT_EQ(pages.at(0).warnings[0].code, schemas::kPageWarningTimeout);
  EXPECT_TRUE(pages.at(1).warnings.empty());
  EXPECT_FALSE(pages.at(1).error);
}

TEST_F(OcrEngineTest, APageOutsideTheDocumentIsRefused) {
  make();
  OcrCall call;
  const EngineResult end = recognise(PdfMaker().text_page(kReportLines).bytes(), {0, 1}, call);
  ASSERT_EQ(end.kind, EngineResult::Kind::kFailed);
  EXPECT_EQ(end.error->code, Code::kInvalidField);
}

TEST_F(OcrEngineTest, PicturesAreListedAndDeliveredOnRequest) {
  make();
  std::string gray;
  for (int i = 0; i < 64 * 64; ++i) gray += static_cast<char>(40 + i % 120);
  const std::string pdf = PdfMaker().picture_page(kReportLines, gray, 64, 64).bytes();
  for (const bool wanted : {false, true}) {
    OcrCall call;
    ASSERT_EQ(recognise(pdf, {0}, call, wanted).kind, EngineResult::Kind::kDone);
    const PageOutcome& page = call.pages.at(0);
    ASSERT_EQ(page.images.size(), 1U) << page.markdown;
    // 200 × 150 points at 200 dpi; the lower left corner is at (100, 300) points.
    EXPECT_NEAR(page.images[0].x0, 278, 6);
    EXPECT_NEAR(page.images[0].x1, 833, 6);
    EXPECT_NEAR(page.images[0].y1, 1506, 6);
    EXPECT_NE(page.markdown.find("![img-0-0.jpeg](img-0-0.jpeg)"), std::string::npos) << page.markdown;
    EXPECT_EQ(page.images[0].data_uri.starts_with("data:image/jpeg;base64,/9j/"), wanted);
  }
}

}  // namespace
}  // namespace millrace::engines
