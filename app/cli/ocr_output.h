#pragma once
#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/result.h"

// What of an OCR reply goes to local files.
namespace millrace::cli {

// The pages' markdown with an empty line between them, and a line end at the end.
std::string markdown_of(const nlohmann::json& result);
int failed_pages(const nlohmann::json& result);

// Whole or not at all: under another name first, pictures (`images`) before the text that names them. Folders
// are made. kInternal names the file that cannot be written.
base::Status write_output(const nlohmann::json& result, const std::filesystem::path& output, bool images);

}  // namespace millrace::cli
