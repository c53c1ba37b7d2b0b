#pragma once
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "ai/engines/ocr/ocr_engine.h"
#include "tests/support/pdf_maker.h"
#include "tests/unit/engines/pool_fixture.h"

namespace millrace::engines::testing {

inline const std::vector<std::string> kReportLines{"*Annual Report",
                                                   "",
                                                   "The gateway accepts every document once and keeps its",
                                                   "result until someone reads it. Workers share the pages",
                                                   "between them so that a long report is finished sooner.",
                                                   "",
                                                   "Every range of pages is a task of its own with a lease."};

struct OcrCall : InfoProbe<DocumentInfo> {
  std::map<int, PageOutcome> pages;

  std::function<void(PageOutcome)> on_page() {
    return [this](PageOutcome page) {
      const std::lock_guard lock(mutex);
      EXPECT_FALSE(end) << "a page after the end";
      EXPECT_TRUE(pages.emplace(page.index, std::move(page)).second) << "a page was reported twice";
      changed.notify_all();
    };
  }
};

class OcrEngineTest : public PoolTest {
 protected:
  // A document that repeats one scanned page `count` times.
  base::Result<std::shared_ptr<const Document>> scans(int count, int dpi) {
    const auto raster = raster_of(spawner_, support::PdfMaker().text_page(kReportLines, 14).bytes(), dpi);
    support::PdfMaker maker;
    for (int page = 0; page < count; ++page) maker.scan_page(raster.gray, raster.width, raster.height);
    return document_of(maker.bytes());
  }
  // A page of small print, which takes processor seconds to read.
  Raster dense_page() {
    std::string line;
    for (int word = 0; word < 16; ++word) line += "millers ";
    return raster_of(spawner_, support::PdfMaker().text_page(std::vector<std::string>(90, line), 7).bytes(),
                     200);
  }
  // Four scans, of which the second is the dense page. Once the first is read, the child stays at the second,
  // so a test can interrupt it there even if the test is late by seconds.
  base::Result<std::shared_ptr<const Document>> scans_with_a_long_one() {
    const auto page = raster_of(spawner_, support::PdfMaker().text_page(kReportLines, 14).bytes(), 100);
    const Raster dense = dense_page();
    support::PdfMaker maker;
    for (const Raster& each : {page, dense, page, page}) maker.scan_page(each.gray, each.width, each.height);
    return document_of(maker.bytes());
  }
  static std::vector<int> first_pages(int count) {
    std::vector<int> pages(static_cast<std::size_t>(count));
    std::iota(pages.begin(), pages.end(), 0);
    return pages;
  }
  void make(EnginePool::Options options = engine_options()) {
    make_pool(std::move(options));
    engine_ = std::make_unique<OcrEngine>(*pool_);
  }
  void make(EnginePool::Options options, process::Confinement form) {
    make_pool(std::move(options), form);
    engine_ = std::make_unique<OcrEngine>(*pool_);
  }

  EngineResult recognise(const std::string& bytes, const std::vector<int>& pages, OcrCall& call,
                         bool image_data = false) {
    auto document = document_of(bytes);
    if (!document) return {EngineResult::Kind::kFailed, -1, document.error()};
    auto ticket = engine_->recognise(*document, pages, {image_data}, call.on_page(), call.on_end());
    return ticket ? call.wait_end() : EngineResult{EngineResult::Kind::kFailed, -1, ticket.error()};
  }

  base::Code inspect_error(const std::string& bytes) {
    auto document = document_of(bytes);
    if (!document) return document.error().code;
    OcrCall call;
    EXPECT_TRUE(engine_->inspect(*document, call.on_info()));
    EXPECT_TRUE(call.wait([&] { return call.info.has_value(); }));
    return *call.info ? base::Code::kInternal : call.info->error().code;
  }

  std::unique_ptr<OcrEngine> engine_;
};

}  // namespace millrace::engines::testing
