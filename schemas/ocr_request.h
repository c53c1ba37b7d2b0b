#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "schemas/field.h"
#include "schemas/ocr.h"

namespace millrace::schemas {

// The names that the local engine answers to; the first is its own.
std::span<const std::string_view> ocr_model_names();

// POST /v1/ocr, its shape checked (spec; contract.md §5).
struct OcrRequest {
  OcrSpec spec;   // `document_url` is set if the document is to be fetched
  JsonBody body;  // owns short texts that the view below may point to
  // The document as base64 of a data URI, not yet decoded: a view into the request's body or into `body`.
  std::string_view base64;
  bool is_data_uri = false;
  bool deferred = false;
  std::vector<std::string> dropped;  // fields that nobody knows: x-millrace-dropped-params
};

// `body` as read_json wants it; it must outlive the request. Errors: kBadRequest (JSON), kInvalidField with
// its problems, kModelNotFound (names the nearest).
tl::expected<OcrRequest, Refusal> parse_ocr_request(std::string& body);

// The table of the body: OpenAPI takes its schema from it.
std::span<const Field> ocr_request_fields();

}  // namespace millrace::schemas
