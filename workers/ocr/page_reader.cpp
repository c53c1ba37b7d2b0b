#include "workers/ocr/page_reader.h"

#include <utility>

#include "ai/engines/ocr/ocr_engine.h"

namespace millrace::workers {
namespace {

base::Result<PageReader::Cancel> cancel_of(base::Result<engines::Ticket> ticket) {
  if (!ticket) return ticket.error();
  return PageReader::Cancel([ticket = std::move(*ticket)] { ticket.cancel(); });
}

class EngineReader final : public PageReader {
 public:
  explicit EngineReader(engines::OcrEngine& engine) : engine_(engine) {}

  base::Result<Cancel> inspect(std::shared_ptr<const engines::Document> document,
                               std::function<void(base::Result<engines::DocumentInfo>)> done) override {
    return cancel_of(engine_.inspect(std::move(document), std::move(done)));
  }
  base::Result<Cancel> recognise(std::shared_ptr<const engines::Document> document, std::vector<int> pages,
                                 engines::RecogniseOptions options,
                                 std::function<void(engines::PageOutcome)> on_page,
                                 std::function<void(engines::EngineResult)> done) override {
    return cancel_of(engine_.recognise(std::move(document), std::move(pages), options, std::move(on_page),
                                       std::move(done)));
  }

 private:
  engines::OcrEngine& engine_;
};

}  // namespace

std::unique_ptr<PageReader> page_reader(engines::OcrEngine& engine) {
  return std::make_unique<EngineReader>(engine);
}

}  // namespace millrace::workers
