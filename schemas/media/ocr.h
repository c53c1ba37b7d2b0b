#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/result.h"
#include "schemas/key_access.h"

namespace millrace::schemas {

// Limits of the spec; every error about a limit names it.
inline constexpr std::int64_t kDocumentBytesMax = 50ll << 20;  // decoded file
inline constexpr int kDocumentPagesMax = 1000;
inline constexpr std::int64_t kOcrModelNameMax = 255;  // bytes

// The request field of the document, for errors about it.
inline constexpr std::string_view kDocumentField = "document.document_url";

inline constexpr std::string_view kOcrModel = "millrace/ocr";
inline constexpr std::string_view kOcrModelDefault = "vendor-ocr-latest";

// A decoded document up to this size is stored inside the spec.
inline constexpr std::size_t kInlineDocumentMax = 16 * 1024;

// Which pages of a document, by zero-based number; empty: all.
using PageList = std::vector<int>;

// The part of an OCR request that is stored in the job's spec. The document is the job's input blob, a URL to
// download, or inline.
struct OcrSpec {
  std::string model;         // as requested; the response repeats it
  std::string document_url;  // https URL that the runner downloads; empty: no download
  // A small document (≤ kInlineDocumentMax), so that accepting the request writes no file. Then there is
  // neither an input blob nor a URL; the runner first creates a blob or an in-memory file from it.
  std::string inline_document;
  std::string document_name;
  PageList pages;
  bool include_image_base64 = false;
  bool by_provider = false;  // a provider's model reads it, not the local engine; fixed at submission
  std::string options = {};  // for that model (ocr_options.h): a JSON object; empty: none
  AllowList allowed_models;  // of the key, for fallbacks
  // Set for a child: `pages` is its share of the root job's pages.
  bool is_range = false;
};
// The form in the job's row: JSON, then, for an inline document, a zero byte and the document's bytes.
std::string pack(const OcrSpec& spec);
// The same with `document` as the inline document, without a copy of it.
std::string pack(const OcrSpec& spec, std::string_view document);
// The length of the JSON part.
std::size_t json_size(std::string_view packed);
// Also reads the format before schema 15, which has the document as base64 inside the JSON.
base::Result<OcrSpec> unpack_ocr_spec(std::string_view packed);

// Other members of a provider's reply, in order: name, and value as JSON.
using OcrMembers = std::vector<std::pair<std::string, std::string>>;

struct OcrImage {
  std::string id;
  std::optional<int> top_left_x, top_left_y, bottom_right_x, bottom_right_y;
  std::string image_base64;  // data URI; empty: not requested
  OcrMembers others = {};    // image_annotation …
};
struct OcrDimensions {
  int dpi = 0, height = 0, width = 0;
};
// Why the text of a page that was read may be wrong or incomplete.
struct PageWarning {
  std::string code;     // one of kPageWarning…
  std::string message;  // one sentence, which says what to do about it
};
inline constexpr std::string_view kPageWarningLanguage = "other_language";  // not set in ocr.languages
inline constexpr std::string_view kPageWarningTimeout = "page_timeout";     // only a part was read
inline constexpr std::string_view kPageWarningUnsure = "unsure";            // the text of a place is doubtful
// One page of the response (docs/design/http-contract.md §5). If `error` is set, markdown is "", there are no
// images, and dimensions is null.
struct OcrPage {
  int index = 0;
  std::string markdown;
  std::vector<OcrImage> images;
  std::optional<OcrDimensions> dimensions;
  std::vector<PageWarning> warnings;
  std::optional<base::Error> error;
  OcrMembers others = {};    // tables, blocks, hyperlinks, header, footer, confidence_scores …
  OcrMembers document = {};  // of the whole reply: document_annotation …; only in one page of a document
};
// The names that OcrPage and OcrImage have themselves.
bool is_ocr_page_member(std::string_view name);
bool is_ocr_image_member(std::string_view name);
std::string to_json(const OcrPage& page);  // one part of a job
base::Result<OcrPage> ocr_page_from_json(std::string_view json);
bool ocr_page_failed(std::string_view part);  // true: it has an error, or is not a page

// The JSON of a page without OcrPage::document.
struct PageOfDocument {
  std::string page;
  std::string members;  // those of the document, as JSON: `"a":1,"b":2`
};
std::optional<PageOfDocument> without_document_members(std::string_view page);  // nullopt: it has none

// The response from its parts: {pages, model, usage_info {pages_processed, doc_size_bytes}}. `parts` are JSON
// pages in order; pages_processed counts pages without an error; a negative doc_size_bytes (not known) is
// null.
std::string ocr_reply(std::string_view model, const std::vector<std::string>& parts,
                      std::int64_t doc_size_bytes);
// The same in pieces, for a response that is written while its parts are read: the head, the parts separated
// by commas, then the tail. `good`: the number of parts without an error.
// `document`: the members of the document (PageOfDocument).
inline constexpr std::string_view kOcrReplyHead = R"({"pages":[)";
std::string ocr_reply_tail(std::string_view model, int good, std::int64_t doc_size_bytes,
                           std::string_view document = {});

}  // namespace millrace::schemas
