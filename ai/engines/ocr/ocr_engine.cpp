#include "ai/engines/ocr/ocr_engine.h"

#include <chrono>
#include <set>
#include <string>

#include "ai/engines/ocr/document.h"
#include "ai/engines/pool/engine_call.h"

namespace millrace::engines {
namespace {

using base::Code;
using std::chrono::milliseconds;
using DocumentPtr = std::shared_ptr<const Document>;

bool open_in(EngineChild& child, const DocumentPtr& document) {
  Request opening;
  opening.kind = Request::Kind::kOpen;
  opening.media = document->media();
  opening.size_bytes = document->size_bytes();
  return child.open(document, opening, document->fd());
}

// A child that opens a document may have been killed for a reason outside the document. The document is
// blamed only after three deaths, as with jobs that kill their workers.
class InspectDocumentCall final : public SingleResultCall<DocumentInfo> {
 public:
  InspectDocumentCall(const EngineLimits& limits, DocumentPtr document, Done done)
      : SingleResultCall(document->owner(), std::move(done)),
        limits_(limits),
        document_(std::move(document)) {}

  bool send_request(EngineChild& child) override {
    Request request;
    request.kind = Request::Kind::kInspect;
    return open_in(child, document_) && child.send(request);
  }
  milliseconds time_limit() const override { return limits_.page_wall + limits_.page_cpu; }
  Place place() const override { return {-1, schemas::name(document_->media())}; }
  std::optional<EngineResult> on_limit_hit(LimitHit why) override {
    return failed(why == LimitHit::kByClock ? opened_too_slowly() : opening_is_a_bomb());
  }
  int crashes_max() const override { return 2; }

 private:
  base::Error crash_error() const override {
    return base::error(Code::kDocumentDamaged,
                       "the document cannot be opened: the engine crashed on it three times");
  }
  std::optional<DocumentInfo> answer_in(Event event) const override {
    if (event.kind != Event::Kind::kInfo) return std::nullopt;
    return DocumentInfo{document_->media(), event.pages};
  }

  const EngineLimits& limits_;
  DocumentPtr document_;
};

class RecogniseCall final : public PartsCall {
 public:
  RecogniseCall(const EngineLimits& limits, DocumentPtr document, const std::vector<int>& pages,
                RecogniseOptions options, std::function<void(PageOutcome)> on_page,
                std::function<void(EngineResult)> done)
      : PartsCall(document->owner(), {pages.begin(), pages.end()}, std::move(done)),
        limits_(limits),
        document_(std::move(document)),
        options_(options),
        on_page_(std::move(on_page)) {}

  bool send_request(EngineChild& child) override {
    Request request;
    request.kind = Request::Kind::kRecognise;
    request.pages.assign(left().begin(), left().end());
    request.image_data = options_.image_data;
    return open_in(child, document_) && child.send(request);
  }
  milliseconds time_limit() const override { return limits_.page_wall + limits_.page_cpu; }
  Place place() const override { return {suspect_part(), schemas::name(document_->media())}; }

 private:
  std::optional<int> part_in(const Event& event) const override {
    if (event.kind != Event::Kind::kPage) return std::nullopt;
    return event.outcome.index;
  }
  void report(Event event) override {
    event.outcome.cpu = event.cpu;
    on_page_(std::move(event.outcome));
  }
  milliseconds cpu_max(int /*page*/) const override { return limits_.child_cpu(); }
  base::Error stuck_error(int /*page*/, LimitHit why) const override {
    if (why == LimitHit::kByClock) {
      return base::error(Code::kPageTimeout, "the page takes too long (ocr.page_timeout)");
    }
    const auto bound = std::chrono::ceil<std::chrono::seconds>(limits_.child_cpu()).count();
    return base::error(Code::kPageTimeout,
                       "the page takes more than " + std::to_string(bound) + " s of processor time");
  }
  void report_failed(int page, base::Error error, milliseconds cpu) override {
    PageOutcome outcome;
    outcome.index = page;
    outcome.cpu = cpu;
    outcome.error = std::move(error);
    on_page_(std::move(outcome));
  }

  const EngineLimits& limits_;
  DocumentPtr document_;
  RecogniseOptions options_;
  std::function<void(PageOutcome)> on_page_;
};

// Validates the picture of a possibly compromised child.
bool is_small_jpeg(const std::string& bytes) {
  constexpr std::size_t kPictureBytesMax = std::size_t{4} << 20;
  return bytes.size() <= kPictureBytesMax && schemas::detect_media(bytes) == schemas::Media::kJpeg;
}

class DrawCall final : public SingleResultCall<std::string> {
 public:
  DrawCall(const EngineLimits& limits, DocumentPtr document, int page, int side, Done done)
      : SingleResultCall(document->owner(), std::move(done)),
        limits_(limits),
        document_(std::move(document)),
        page_(page),
        side_(side) {}

  bool send_request(EngineChild& child) override {
    Request request;
    request.kind = Request::Kind::kDraw;
    request.pages = {page_};
    request.picture_side = side_;
    return open_in(child, document_) && child.send(request);
  }
  milliseconds time_limit() const override { return limits_.page_wall; }
  Place place() const override { return {page_, schemas::name(document_->media())}; }
  std::optional<EngineResult> on_limit_hit(LimitHit /*why*/) override {
    return failed(base::error(Code::kPageTimeout, "rendering the page takes too long"));
  }

 private:
  base::Error crash_error() const override {
    return base::error(Code::kPageFailed, "the page crashes the program that renders it");
  }
  std::optional<std::string> answer_in(Event event) const override {
    if (event.kind != Event::Kind::kPicture || !is_small_jpeg(event.picture)) return std::nullopt;
    return std::move(event.picture);
  }

  const EngineLimits& limits_;
  DocumentPtr document_;
  const int page_, side_;
};

}  // namespace

base::Result<EngineCallHandle> OcrEngine::inspect(std::shared_ptr<const Document> document,
                                                  std::function<void(base::Result<DocumentInfo>)> done) {
  return pool_->submit(
      std::make_shared<InspectDocumentCall>(pool_->limits(), std::move(document), std::move(done)));
}

base::Result<EngineCallHandle> OcrEngine::recognise(std::shared_ptr<const Document> document,
                                                    std::vector<int> pages, RecogniseOptions options,
                                                    std::function<void(PageOutcome)> on_page,
                                                    std::function<void(EngineResult)> done) {
  return pool_->submit(std::make_shared<RecogniseCall>(pool_->limits(), std::move(document), pages, options,
                                                       std::move(on_page), std::move(done)));
}

base::Result<EngineCallHandle> OcrEngine::draw(std::shared_ptr<const Document> document, int page, int side,
                                               std::function<void(base::Result<std::string>)> done) {
  return pool_->submit(
      std::make_shared<DrawCall>(pool_->limits(), std::move(document), page, side, std::move(done)));
}

}  // namespace millrace::engines
