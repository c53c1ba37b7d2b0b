#pragma once
#include <cctype>
#include <cstdio>
#include <string>

#include "app/cli/exit_code.h"

namespace millrace::app {

// Prints one line per check. The worst result decides the exit code.
class Report {
 public:
  explicit Report(bool verbose) : verbose_(verbose) {}

  // `how` is for people who know the inside; it is printed with --verbose.
  void ok(const char* what, const std::string& finding, const std::string& how = {}) {
    line("ok", what, verbose_ && !how.empty() ? finding + " (" + how + ")" : finding);
  }
  void warn(const char* what, const std::string& detail, const std::string& advice) {
    line("warn", what, detail);
    hint(advice);
  }
  void fail(const char* what, const std::string& detail, const std::string& advice) {
    line("FAIL", what, detail);
    hint(advice);
    failed_ = true;
  }
  // `message`: the finding, then `; ` and what to do about it.
  void fail(const char* what, const std::string& message) {
    const std::size_t end = message.rfind("; ");
    std::string advice = end == std::string::npos ? std::string() : message.substr(end + 2) + ".";
    if (!advice.empty()) advice.front() = static_cast<char>(std::toupper(advice.front()));
    fail(what, message.substr(0, end), advice);
  }
  int exit_code() const { return failed_ ? cli::kFailed : cli::kOk; }

 private:
  static void line(const char* state, const char* what, const std::string& detail) {
    std::printf("%-5s %-9s %s\n", state, what, detail.c_str());
  }
  static void hint(const std::string& advice) {
    if (!advice.empty()) std::printf("                → %s\n", advice.c_str());
  }
  const bool verbose_;
  bool failed_ = false;
};

}  // namespace millrace::app
