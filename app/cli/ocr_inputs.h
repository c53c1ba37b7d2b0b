#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::cli {

// A file to read and where its markdown goes.
struct OcrInput {
  std::filesystem::path file;
  std::filesystem::path output;  // in the output folder; empty: standard output
};

struct OcrInputs {
  std::vector<OcrInput> documents;
  std::vector<std::string> skipped;  // folders below the named ones that cannot be read: "FOLDER: why"
};

// Files as named, folders with every PDF, PNG, JPEG and WebP below them (in order). Outputs keep the
// sub-folders; two inputs never share one output ("scan.pdf" and "scan.png": "scan.pdf.md", "scan.png.md").
// kNotFound: a path is not there; kInvalidField: a folder holds no document that can be reached.
base::Result<OcrInputs> collect_inputs(const std::vector<std::string>& paths,
                                       const std::filesystem::path& output_folder);

}  // namespace millrace::cli
