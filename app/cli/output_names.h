#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "app/cli/batch_inputs.h"
#include "app/cli/resume_file.h"

namespace millrace::cli {

// Says for each input to which file of `folder` its text goes, and notes it in `resume`: an input keeps its
// output of that form from run to run, whatever lies beside it, and none has another's. "scan.md" for
// "scan.pdf", with its sub-folders; "scan.pdf.md" or "scan.pdf.2.md" where the name is another input's by
// then, is a file that nobody here has written, or would be that of several new ones ("scan.pdf" and
// "scan.png").
void name_outputs(std::vector<BatchInput>& inputs, const std::filesystem::path& folder,
                  const std::string& ending, ResumeFile& resume);

}  // namespace millrace::cli
