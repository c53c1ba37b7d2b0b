#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/result.h"

namespace millrace::schemas {

// Limits of the spec; every error that refuses by one names it.
inline constexpr std::int64_t kDocumentBytesMax = 50ll << 20;  // decoded file
inline constexpr int kDocumentPagesMax = 1000;
inline constexpr std::int64_t kDocumentNameMax = 255;  // bytes, as of the name of a model

// Where a request has its document: what errors about it name.
inline constexpr std::string_view kDocumentField = "document.document_url";

inline constexpr std::string_view kOcrModel = "millrace/ocr";
inline constexpr std::string_view kOcrModelDefault = "vendor-ocr-latest";

// A decoded document up to this size travels inside the spec.
inline constexpr std::size_t kInlineDocumentMax = 16 * 1024;

// Which pages of a document, by zero-based number; empty: all.
using PageList = std::vector<int>;

// What is kept of an OCR request in the job's spec (the document itself is the job's input blob, or a URL to
// fetch).
struct OcrSpec {
  std::string model;         // as asked for: it is echoed
  std::string document_url;  // https URL that the runner fetches; empty: the input blob is there
  // A small document (≤ kInlineDocumentMax) itself, so that accepting it writes no file: then there is
  // neither input blob nor URL, and the runner makes a blob or a memory file of it first.
  std::string inline_document;
  std::string document_name;
  PageList pages;
  bool include_image_base64 = false;
  bool by_provider = false;  // a model of a provider reads it, not the local engine: said once, at intake
  // Set in a child: its share of the root's pages.
  bool is_range = false;
};
// As a job's row keeps it: JSON and, of an inline document, a zero byte and its bytes behind that.
std::string pack(const OcrSpec& spec);
// The same with `document` as its inline document, which needs no copy for it.
std::string pack(const OcrSpec& spec, std::string_view document);
// How much of it is the JSON.
std::size_t json_size(std::string_view packed);
// Takes what programs before schema 15 wrote, too: the document as base64 within the JSON.
base::Result<OcrSpec> unpack_ocr_spec(std::string_view packed);

// One page of the reply (docs/design/http-contract.md §5). `error` set: markdown "", no images, dimensions
// null.
struct OcrImage {
  std::string id;
  std::optional<int> top_left_x, top_left_y, bottom_right_x, bottom_right_y;
  std::string image_base64;  // data URI; empty: not asked for
};
struct OcrDimensions {
  int dpi = 0, height = 0, width = 0;
};
struct OcrPage {
  int index = 0;
  std::string markdown;
  std::vector<OcrImage> images;
  std::optional<OcrDimensions> dimensions;
  std::optional<base::Error> error;
};
std::string to_json(const OcrPage& page);  // one part of a job
base::Result<OcrPage> ocr_page_from_json(std::string_view json);
bool ocr_page_failed(std::string_view part);  // it has an error, or is no page

// The reply from its parts: {pages, model, usage_info {pages_processed, doc_size_bytes}}. `parts` are JSON
// pages in order; pages_processed counts those without an error; doc_size_bytes < 0 (not known yet) is null.
std::string ocr_reply(std::string_view model, const std::vector<std::string>& parts,
                      std::int64_t doc_size_bytes);
// The same in pieces, for a reply that is written as its parts are read: this, the parts with commas between
// them, then the tail. `good`: parts without an error.
inline constexpr std::string_view kOcrReplyHead = R"({"pages":[)";
std::string ocr_reply_tail(std::string_view model, int good, std::int64_t doc_size_bytes);

}  // namespace millrace::schemas
