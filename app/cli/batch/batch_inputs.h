#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/cli/batch/resume_file.h"
#include "platform/base/result.h"

namespace millrace::cli {

// Which files of a folder are taken, and the file name extension of their outputs.
struct InputKinds {
  std::vector<std::string> endings;  // file name extensions in lower case: ".pdf"
  std::string shown;                 // "PDF or PNG"
  std::string output_ending;         // ".md"
  std::vector<std::string> similar =
      {};  // other extensions of such files, which the gateway cannot read: ".tiff"
  bool (*is_input)(const std::string& head) = nullptr;  // whether a file begins as those that are taken
};

// The number of bytes that `is_input` gets.
inline constexpr std::size_t kInputHeadBytes = 1024;

// An input file and the path of its output.
struct BatchInput {
  std::filesystem::path file;
  std::filesystem::path relative;     // relative to the path that the user named
  std::filesystem::path output = {};  // in the output folder; empty: standard output
};

struct BatchInputs {
  std::vector<BatchInput> documents;
  // "PATH: reason". Folders without a document or that cannot be read; inside folders: links to folders, and
  // entries that have a document's extension but are not files.
  std::vector<std::string> skipped;
  std::map<std::string, int> left_out;  // number of skipped files by extension: ".tiff"
  bool misses_inputs =
      false;  // among `left_out` are InputKinds::similar files, or inputs without an extension
};

// Collects the named files ("-": standard input) and, for each named folder, every matching file below it
// that is not hidden, in order. A file that is named twice counts once. Outputs are not named yet. kNotFound:
// a path does not exist. kInvalidField: the paths contain no document, or "-" is used together with an output
// folder.
base::Result<BatchInputs> collect_inputs(const std::vector<std::string>& paths,
                                         const std::filesystem::path& output_folder, const InputKinds& kinds);

// Chooses the output file of each input in `folder` and records it in `resume`. An input keeps its output for
// that extension from run to run, whatever other inputs there are, and no two inputs share one. "scan.pdf"
// becomes "scan.md", below the same sub-folders. It becomes "scan.pdf.md" or "scan.pdf.2.md" if "scan.md"
// belongs to another input, is a file that this command has not written, or would be the output of several
// new inputs ("scan.pdf" and "scan.png").
void name_outputs(std::vector<BatchInput>& inputs, const std::filesystem::path& folder,
                  const std::string& ending, ResumeFile& resume);

}  // namespace millrace::cli
