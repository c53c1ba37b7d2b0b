#pragma once
#include <optional>
#include <string>

#include "app/cli/progress.h"

namespace millrace::cli {

// How one file of a command ended.
struct DocumentEnd {
  std::string file, job, output;  // job and output may be empty
  std::string status;             // "succeeded", "failed"
  int pages = 0;
  std::string code, message;        // of what went wrong, in whole or in part
  std::optional<std::string> text;  // a member of the JSON row, where no file holds it
  bool before = false;              // by a run before this one
};

struct ReportStyle {
  Words words = {};
  std::string text_member;  // of the JSON row
  bool as_json = false;
};

// As JSON a row on stdout; a line on stderr where a bar does not say as much, and of what went wrong
// always.
void report(const DocumentEnd& end, const ReportStyle& style, Progress& progress);

}  // namespace millrace::cli
