#include "ai/inference/ocr_errand.h"

#include "ai/inference/routing.h"

namespace millrace::inference {

using providers::Target;

std::optional<schemas::Refusal> OcrErrand::refusal(const ModelRow& row) const {
  if (reads_documents(row)) return std::nullopt;
  return schemas::Refusal{base::error(base::Code::kBadRequest,
                                      "model '" + row.target.name + "' does not read documents", "model"),
                          {}};
}

base::Result<providers::WireRequest> OcrErrand::write(const Target& target, std::size_t) {
  return providers::ocr_request(target, order_);
}

base::Result<OcrErrand::Answer> OcrErrand::answer_in(const Target& target, const std::string& body) const {
  return providers::ocr_reply(target, body);
}

// The mock's models read nothing (refusal).
base::Status OcrErrand::mock(const Target& target, std::size_t) { return *providers::no_ocr(target); }

}  // namespace millrace::inference
