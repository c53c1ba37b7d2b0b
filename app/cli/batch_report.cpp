#include "app/cli/batch_report.h"

#include <iostream>

#include <nlohmann/json.hpp>

namespace millrace::cli {
using nlohmann::json;
namespace {

void print_row(const DocumentEnd& end, const ReportStyle& style) {
  json row = {{"file", end.file}, {"status", end.status}, {style.words.pages, end.pages}};
  if (!end.job.empty()) row["job"] = end.job;
  if (!end.output.empty()) row["output"] = end.output;
  if (!end.code.empty() || !end.message.empty())
    row["error"] = {{"code", end.code}, {"message", end.message}};
  if (end.before) row["before"] = true;
  if (end.text) row[style.text_member] = *end.text;
  std::cout << row.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
}

std::string good_line(const DocumentEnd& end, const Words& words) {
  std::string line = "✓ " + end.file;
  if (!end.output.empty()) line += " → " + end.output;
  line.append(", ").append(std::to_string(end.pages)).append(" ");
  line.append(end.pages == 1 ? words.page : words.pages);
  return end.message.empty() ? line : line + ", " + end.message;
}

}  // namespace

void report(const DocumentEnd& end, const ReportStyle& style, Progress& progress) {
  if (style.as_json) print_row(end, style);
  if (end.status != "succeeded") {
    progress.failure("✗ " + end.file + ": " + end.message + (end.code.empty() ? "" : " (" + end.code + ")"));
  } else if (!end.message.empty()) {
    progress.failure(good_line(end, style.words));
  } else if (!progress.on_terminal()) {
    progress.line(good_line(end, style.words));
  }
}

}  // namespace millrace::cli
