#include "app/cli/ocr_report.h"

#include <iostream>

#include <nlohmann/json.hpp>

namespace millrace::cli {
using nlohmann::json;
namespace {

void print_row(const DocumentEnd& end) {
  json row = {{"file", end.file}, {"status", end.status}, {"pages", end.pages}};
  if (!end.job.empty()) row["job"] = end.job;
  if (!end.output.empty()) row["output"] = end.output;
  if (!end.code.empty() || !end.message.empty())
    row["error"] = {{"code", end.code}, {"message", end.message}};
  if (end.markdown) row["markdown"] = *end.markdown;
  std::cout << row.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
}

std::string good_line(const DocumentEnd& end) {
  std::string line = "✓ " + end.file;
  if (!end.output.empty()) line += " → " + end.output;
  line += ", " + std::to_string(end.pages) + (end.pages == 1 ? " page" : " pages");
  return end.message.empty() ? line : line + ", " + end.message;
}

}  // namespace

void report(const DocumentEnd& end, bool as_json, Progress& progress) {
  if (as_json) print_row(end);
  if (end.status != "succeeded") {
    progress.failure("✗ " + end.file + ": " + end.message + (end.code.empty() ? "" : " (" + end.code + ")"));
  } else if (!end.message.empty()) {
    progress.failure(good_line(end));
  } else if (!progress.on_terminal()) {
    progress.line(good_line(end));
  }
}

}  // namespace millrace::cli
