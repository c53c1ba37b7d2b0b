#pragma once
#include <filesystem>
#include <string>

#include "app/cli/ocr_command.h"
#include "platform/base/result.h"

// What of a local file goes to the gateway.
namespace millrace::cli {

// The whole file. kDocumentTooLarge: over what the gateway takes, and not read beyond that; kNotFound: it
// cannot be read.
base::Result<std::string> read_document(const std::filesystem::path& file);

// The body of POST /v1/ocr.
std::string request_body(const OcrRequest& request, const std::filesystem::path& file,
                         const std::string& bytes);

}  // namespace millrace::cli
