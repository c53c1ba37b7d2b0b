#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "schemas/dropped.h"
#include "schemas/field.h"
#include "schemas/media/ocr.h"

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

// The names that the local engine answers to; the first is its own.
std::span<const std::string_view> ocr_model_names();
bool is_local_ocr_model(std::string_view name);  // one of them

// POST /v1/ocr, its shape checked (spec; docs/design/http-contract.md §5).
struct OcrRequest {
  OcrSpec spec;   // `document_url` is set if the document is to be fetched
  JsonBody body;  // owns short texts that the view below may point to
  // The document as base64 of a data URI, not yet decoded: a view into the request's body or into `body`.
  std::string_view base64;
  bool is_data_uri = false;
  bool deferred = false;
  DroppedParams dropped;  // fields that nobody knows
};

// Whether a provider's model reads for this name, also for one that the local engine answers to; null: none
// does.
using IsOcrModel = std::function<bool(const std::string& model)>;

// `body` as read_json wants it; it must outlive the request. Errors: kBadRequest (JSON), kInvalidField with
// its problems, kModelNotFound (names the nearest).
tl::expected<OcrRequest, Refusal> parse_ocr_request(std::string& body, const IsOcrModel& is_other = {});
// The same; the usual request is read without a tree (schemas/media/ocr_request.h).
tl::expected<OcrRequest, Refusal> read_ocr_request(std::string& body, const IsOcrModel& is_other = {});

// The table of the body: OpenAPI takes its schema from it.
std::span<const Field> ocr_request_fields();

}  // namespace millrace::schemas
