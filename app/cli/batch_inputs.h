#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::cli {

// Which files of a folder are taken, and how their outputs end.
struct InputKinds {
  std::vector<std::string> endings;  // in lower case: ".pdf"
  std::string shown;                 // "PDF or PNG"
  std::string output_ending;         // ".md"
};

// A file to read and where its text goes.
struct BatchInput {
  std::filesystem::path file;
  std::filesystem::path output;  // in the output folder; empty: standard output
};

struct BatchInputs {
  std::vector<BatchInput> documents;
  std::vector<std::string> skipped;  // folders below the named ones that cannot be read: "FOLDER: why"
};

// Files as named ("-": standard input), folders with every file of those kinds below them that is not hidden
// (in order). Outputs keep the
// sub-folders; two inputs never share one output ("scan.pdf" and "scan.png": "scan.pdf.md", "scan.png.md").
// kNotFound: a path is not there; kInvalidField: a folder holds no document that can be reached, or
// "-" stands beside an output folder.
base::Result<BatchInputs> collect_inputs(const std::vector<std::string>& paths,
                                         const std::filesystem::path& output_folder, const InputKinds& kinds);

}  // namespace millrace::cli
