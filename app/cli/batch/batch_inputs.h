#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "app/cli/batch/resume_file.h"
#include "platform/base/result.h"

namespace millrace::cli {

// Which files of a folder are taken, and how what is made of them ends.
struct InputKinds {
  std::vector<std::string> endings;  // in lower case: ".pdf"
  std::string shown;                 // "PDF or PNG"
  std::string output_ending;         // ".md"
};

// A file to read and where its text goes.
struct BatchInput {
  std::filesystem::path file;
  std::filesystem::path relative;     // to what was named
  std::filesystem::path output = {};  // in the output folder; empty: standard output
};

struct BatchInputs {
  std::vector<BatchInput> documents;
  // "PATH: why". Folders without a document, or that cannot be read; in folders, links to folders, and what
  // has the name of a document and is no file.
  std::vector<std::string> skipped;
  std::map<std::string, int> left_out;  // files of folders that are of no such kind, by ending: ".tiff"
};

// Files as named ("-": standard input), folders with every file of those kinds below them that is not hidden
// (in order); what is named twice counts once. Their outputs are not named yet. kNotFound: a path is not
// there; kInvalidField: there is no document in any of them, or "-" stands beside an output folder.
base::Result<BatchInputs> collect_inputs(const std::vector<std::string>& paths,
                                         const std::filesystem::path& output_folder, const InputKinds& kinds);

// Says for each input to which file of `folder` its text goes, and notes it in `resume`: an input keeps its
// output of that form from run to run, whatever lies beside it, and none has another's. "scan.md" for
// "scan.pdf", with its sub-folders; "scan.pdf.md" or "scan.pdf.2.md" where the name is another input's by
// then, is a file that nobody here has written, or would be that of several new ones ("scan.pdf" and
// "scan.png").
void name_outputs(std::vector<BatchInput>& inputs, const std::filesystem::path& folder,
                  const std::string& ending, ResumeFile& resume);

}  // namespace millrace::cli
