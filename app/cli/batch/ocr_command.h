#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/batch/batch_command.h"
#include "app/cli/batch/batch_inputs.h"
#include "app/cli/batch/batch_text.h"
#include "app/cli/batch/page_join.h"
#include "platform/base/result.h"

namespace millrace::cli {

struct OcrArguments : BatchArguments {
  std::string pages;    // "0-5,7"; empty: all
  std::string model;    // empty: the gateway's default
  bool images = false;  // write the pictures next to the markdown
  PageJoin join;
};

// `millrace ocr`: converts documents to markdown. Behaves as run_batch.
int run_ocr(const OcrArguments& request, const ClientOptions& options);

// The files of a folder that OCR can read.
InputKinds document_kinds();

// Requests made of local files.

// Reads the whole file. kDocumentTooLarge: it exceeds the gateway's limit; reading stops at the limit.
// kNotFound: it cannot be read.
base::Result<std::string> read_document(const std::filesystem::path& file);

// The body of POST /v1/ocr.
std::string request_body(const OcrArguments& request, const std::filesystem::path& file,
                         const std::string& bytes);

// Local files made of an OCR reply.

int failed_pages(const nlohmann::json& result);
// The warnings of the pages; the same message on several pages is one.
std::vector<PartWarning> warnings_of(const nlohmann::json& result);

// Writes the markdown of the reply atomically: first under a temporary name, and pictures (`images`) before
// the text that refers to them. Missing folders are created. kInternal names the file that cannot be written.
base::Status write_output(const nlohmann::json& result, std::string markdown,
                          const std::filesystem::path& output, bool images);

}  // namespace millrace::cli
