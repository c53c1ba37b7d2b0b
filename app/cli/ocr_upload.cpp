#include "app/cli/ocr_upload.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "platform/base/base64.h"
#include "schemas/ocr.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr auto kBytesMax = static_cast<std::size_t>(schemas::kDocumentBytesMax);
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

base::Error too_large() {
  return base::error(base::Code::kDocumentTooLarge, "The document is larger than 50 MB");
}

}  // namespace

std::string stamp_of(const OcrInput& input, const OcrRequest& request) {
  std::error_code failed;
  const auto size = fs::file_size(input.file, failed);
  const auto written = fs::last_write_time(input.file, failed).time_since_epoch().count();
  return std::to_string(size) + "-" + std::to_string(written) + "-" + request.pages + "-" + request.model +
         (request.images ? "-images" : "");
}

base::Result<std::string> read_document(const fs::path& file) {
  std::error_code unknown;  // a pipe has no size: what comes out of it is counted
  const std::uintmax_t size = fs::file_size(file, unknown);
  if (!unknown && size > kBytesMax) return too_large();
  std::ifstream in(file, std::ios::binary);
  std::string bytes;
  while (in && bytes.size() <= kBytesMax) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kPieceBytes);
    in.read(bytes.data() + had, static_cast<std::streamsize>(kPieceBytes));
    bytes.resize(had + static_cast<std::size_t>(in.gcount()));
  }
  if (bytes.size() > kBytesMax) return too_large();
  if (!in.eof()) return base::error(base::Code::kNotFound, "the file cannot be read");
  return bytes;
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
