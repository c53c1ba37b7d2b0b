#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

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

// What a command of many files says of all of them. Pure.

// "1 document", "2 documents"; `documents` is the plural.
std::string counted(int count, std::string_view documents);

// What a run finds of those before it.
struct Before {
  int documents = 0;  // that this run is about
  int done = 0;       // their results are there, and stay
  int going_on = 0;   // handed in by then, and not ended
  int failed = 0;     // tried again
  std::filesystem::path folder;
};
// What was done before and what remains; empty for a first run.
std::string before_text(const Before& before, const Words& words);

// Of a run that ends, or is left, where its results are: "…; 12 of 35 are read, in out". Empty: none is.
std::string so_far_text(const Totals& totals, const std::string& folder);
// Its last line; empty where no folder has its results.
std::string results_text(const Totals& totals, const std::string& folder);
// Of a first Ctrl-C.
std::string detached_text(const Totals& totals, int going_on, int not_handed_in, const std::string& folder);

// "Left out: 2 .tiff, 1 without an ending: not PDF or PNG."
std::string left_out_text(const std::map<std::string, int>& by_ending, const std::string& kinds);

}  // namespace millrace::cli
