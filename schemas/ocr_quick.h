#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "schemas/ocr.h"

namespace millrace::schemas {

// What a usual OCR request says; views point into its body. An absent text is null or empty.
struct QuickOcr {
  std::string_view model = kOcrModelDefault;
  std::string_view base64;  // of the document's data URI
  std::string_view name;
  bool include_image_base64 = false;
  bool deferred = false;
};

// The request of `body` without a tree (ADR 26): one document as a data URI, texts without escapes, and
// nothing but `model`, `document_name` and the two flags beside it. nullopt: it holds more than that, or
// anything that is wrong; who reads it as a tree finds out which. `body` stays as it is, but for its
// capacity.
std::optional<QuickOcr> quick_ocr_request(std::string& body);

}  // namespace millrace::schemas
