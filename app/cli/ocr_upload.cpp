#include "app/cli/ocr_upload.h"

#include <nlohmann/json.hpp>

#include "app/cli/whole_file.h"
#include "platform/base/base64.h"
#include "schemas/ocr.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr auto kBytesMax = static_cast<std::size_t>(schemas::kDocumentBytesMax);

}  // namespace

base::Result<std::string> read_document(const fs::path& file) {
  return read_whole(file, kBytesMax,
                    base::error(base::Code::kDocumentTooLarge, "The document is larger than 50 MB"));
}

// The document is appended as text, so that it is encoded once.
std::string request_body(const OcrRequest& request, const fs::path& file, const std::string& bytes) {
  json rest = {{"include_image_base64", request.images}};
  if (!request.pages.empty()) rest["pages"] = request.pages;
  if (!request.model.empty()) rest["model"] = request.model;
  std::string body = rest.dump(-1, ' ', false, json::error_handler_t::replace);
  body.pop_back();
  body += R"(,"document":{"type":"document_url","document_name":)" +
          json(file.filename().string()).dump(-1, ' ', false, json::error_handler_t::replace) +
          R"(,"document_url":"data:application/octet-stream;base64,)";
  body += base::base64_encode(bytes);
  return body + R"("}})";
}

}  // namespace millrace::cli
