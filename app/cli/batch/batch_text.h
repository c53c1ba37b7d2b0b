#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/cut_off.h"
#include "app/cli/progress.h"

namespace millrace::cli {

// Why the text of some parts of a document may be wrong or incomplete.
struct PartWarning {
  std::vector<int> parts;  // page numbers from 1
  std::string code, message;
};

// How one file of a command ended.
struct DocumentEnd {
  std::string file, job, output;  // job and output may be empty
  std::string status;             // "succeeded", "failed"
  int pages = 0;
  std::string code, message;        // of the error, for the whole document or a part of it
  std::optional<std::string> text;  // the text in the JSON row, if it is not written to a file
  bool before = false;              // done by an earlier run
  std::vector<PartWarning> warnings = {};
};

struct ReportStyle {
  ProgressNouns nouns = {};
  std::string text_member;  // name of the text's member in the JSON row
  bool as_json = false;
};

// Reports the end of one document. With `as_json`: one JSON row on stdout. Otherwise a line on stderr, unless
// a progress bar already shows the same. Errors and warnings are always reported on stderr; a document with a
// warning has `!` in place of the tick. Returns why the row could not be written.
std::optional<CutOff> report(const DocumentEnd& end, const ReportStyle& style, Progress& progress);

// Summary texts of a command with many files. Pure.

// "1 document", "2 documents"; `documents` is the plural.
std::string counted(int count, std::string_view documents);

// What a run finds of earlier runs.
struct EarlierResults {
  int documents = 0;  // documents of this run
  int done = 0;       // results exist and are kept
  int going_on = 0;   // submitted earlier and not ended
  int failed = 0;     // failed earlier; they are tried again
  std::filesystem::path folder;
};
// What was done before and what remains. Empty for a first run.
std::string before_text(const EarlierResults& before, const ProgressNouns& nouns);

// Where the results are when a run ends or detaches: "…; 12 of 35 are read, in out". Empty: there are none.
std::string so_far_text(const Totals& totals, const std::string& folder);
// The last line of a run. Empty if the results are not in a folder.
std::string results_text(const Totals& totals, const std::string& folder);
// The text after the first Ctrl-C.
std::string detached_text(const Totals& totals, int going_on, int not_submitted, const std::string& folder);

// "Left out: 2 .tiff, 1 without an ending: not PDF or PNG."
std::string left_out_text(const std::map<std::string, int>& by_ending, const std::string& kinds);

}  // namespace millrace::cli
