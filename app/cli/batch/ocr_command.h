#pragma once
#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/batch/batch_command.h"
#include "platform/base/result.h"

namespace millrace::cli {

struct OcrRequest : BatchRequest {
  std::string pages;    // "0-5,7"; empty: all
  std::string model;    // empty: the gateway's default
  bool images = false;  // pictures beside the markdown
};

// `millrace ocr`: documents into markdown, as run_batch says.
int run_ocr(const OcrRequest& request, const ClientOptions& options);

// What of a local file goes to the gateway.

// The whole file. kDocumentTooLarge: over what the gateway takes, and not read beyond that; kNotFound: it
// cannot be read.
base::Result<std::string> read_document(const std::filesystem::path& file);

// The body of POST /v1/ocr.
std::string request_body(const OcrRequest& request, const std::filesystem::path& file,
                         const std::string& bytes);

// What of an OCR reply goes to local files.

// The pages' markdown with an empty line between them, and a line end at the end.
std::string markdown_of(const nlohmann::json& result);
int failed_pages(const nlohmann::json& result);

// Whole or not at all: under another name first, pictures (`images`) before the text that names them. Folders
// are made. kInternal names the file that cannot be written.
base::Status write_output(const nlohmann::json& result, const std::filesystem::path& output, bool images);

}  // namespace millrace::cli
