#include "ai/inference/ocr_errand.h"

#include <algorithm>
#include <utility>

#include "ai/inference/routing.h"

namespace millrace::inference {

using providers::Target;

std::optional<schemas::Refusal> OcrErrand::refusal(const ModelRow& row) const {
  if (reads_documents(row)) return std::nullopt;
  return schemas::Refusal{base::error(base::Code::kBadRequest,
                                      "model '" + row.target.name + "' does not read documents", "model"),
                          {}};
}

std::size_t OcrErrand::begin(const Target&) {
  pages_.clear();
  return 1;
}

base::Result<providers::WireRequest> OcrErrand::write(const Target& target, std::size_t) {
  return providers::ocr_request(target, order_);
}

base::Status OcrErrand::read(const Target& target, std::size_t, std::string body) {
  auto pages = providers::ocr_reply(target, body);
  if (!pages) return pages.error();
  pages_ = *std::move(pages);
  return {};
}

// The mock's models read nothing (refusal).
base::Status OcrErrand::mock(const Target& target, std::size_t) { return *providers::no_ocr(target); }

void OcrErrand::on_end(base::Result<MediaEnd> end) {
  if (!end) return done_(std::move(end.error()));
  OcrEnd told;
  static_cast<MediaEnd&>(told) = *std::move(end);
  told.pages = std::move(pages_);
  done_(std::move(told));
}

}  // namespace millrace::inference
