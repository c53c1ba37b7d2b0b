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
#include "schemas/jobs/job_start.h"
#include "schemas/media/ocr.h"

namespace millrace::schemas {

// The content of a common OCR request. The views point into the body. An absent text is null or empty.
struct QuickOcr {
  std::string_view model = kOcrModelDefault;
  std::string_view base64;  // of the document's data URI
  std::string_view name;
  bool include_image_base64 = false;
  bool deferred = false;
};

// Parses `body` without a tree (ADR 26). It accepts only one document as a data URI, texts without escapes,
// and besides it only `model`, `document_name` and the two flags. nullopt: the request has anything else or
// is invalid; the tree parser must decide. `body` is unchanged, except for its capacity.
std::optional<QuickOcr> quick_ocr_request(std::string& body);

// The model names that the local engine serves; the first is its real name.
std::span<const std::string_view> ocr_model_names();
bool is_local_ocr_model(std::string_view name);  // true: one of these names

// A validated POST /v1/ocr (spec; docs/design/http-contract.md §5).
struct OcrRequest {
  OcrSpec spec;   // `document_url` is set if the document must be downloaded
  JsonBody body;  // owns short texts that the view below may point to
  // The base64 of the document's data URI, not yet decoded: a view of the request's body or of `body`.
  std::string_view base64;
  bool is_data_uri = false;
  std::optional<base::Uuid> file;  // the document is this file of /v1/files; then there is no URL
  bool deferred = false;
  std::optional<JobStart> start;  // then it is deferred, too
  std::string metadata;           // as JSON, for the job; empty: none
  DroppedParams dropped;          // unknown fields
};

// Returns true if a provider's model serves this name, even if the local engine serves it too. Null: there
// are no such models.
using IsProviderModel = std::function<bool(const std::string& model)>;

// `body`: see read_json; it must outlive the request. Errors: kBadRequest (JSON), kInvalidField with its
// problems, kModelNotFound (names the nearest model).
tl::expected<OcrRequest, Refusal> parse_ocr_request(std::string& body,
                                                    const IsProviderModel& has_provider = {});
// The same, but a common request is parsed without a tree (quick_ocr_request).
tl::expected<OcrRequest, Refusal> read_ocr_request(std::string& body,
                                                   const IsProviderModel& has_provider = {});

// The same for a form with a document and for the query of a document that is the body itself: the caller has
// the document, so there is no URL and no base64. `fields`: those of the form without the file, in order.
tl::expected<OcrRequest, Refusal> parse_ocr_form(const QueryPairs& fields, bool has_file,
                                                 const IsProviderModel& has_provider = {});
tl::expected<OcrRequest, Refusal> parse_ocr_query(const QueryPairs& pairs,
                                                  const IsProviderModel& has_provider = {});

// The tables of the JSON body, of a form, and of the query of a body that is the document itself. OpenAPI's
// schemas are generated from them.
std::span<const Field> ocr_request_fields();
std::span<const Field> ocr_form_fields();
std::span<const Field> ocr_query_fields();

}  // namespace millrace::schemas
