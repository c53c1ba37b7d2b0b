#include "platform/base/log.h"

#include <cmath>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

namespace millrace::base::log_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// Replaces stderr with a pipe during its lifetime. The pipe keeps separate writes separate.
class StderrPipe {
 public:
  StderrPipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_DIRECT) != 0) throw std::runtime_error("pipe2");
    reader_ = ends[0];
    saved_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~StderrPipe() {
    log_stop();
    restore();
    ::close(reader_);
  }
  StderrPipe(const StderrPipe&) = delete;
  StderrPipe& operator=(const StderrPipe&) = delete;

  void make_small() { ::fcntl(reader_, F_SETPIPE_SZ, 4096); }
  void close_reader() { ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), reader_); }
  // True if there is unread text.
  bool has_text() const {
    pollfd ready{reader_, POLLIN, 0};
    return ::poll(&ready, 1, 0) == 1;
  }
  // Stops the log and returns everything that was written.
  std::string text() {
    std::string all;
    for (const std::string& each : writes()) all += each;
    return all;
  }
  std::vector<std::string> writes() {
    log_stop();
    restore();
    std::vector<std::string> all;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(reader_, buffer, sizeof buffer)) > 0;)
      all.emplace_back(buffer, static_cast<std::size_t>(got));
    return all;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    saved_ = -1;
  }
  int reader_ = -1;
  int saved_ = -1;
};

std::string secret_key() { return "mr_live_" + std::string("abcd1234_") + std::string(43, 'S'); }

TEST(Log, ATextLineHasUtcTimeLevelEventAndFields) {
  StderrPipe out;
  log_start(LogFormat::kText, LogLevel::kInfo);
  log_info("job.done", {{"job", "ocr-1"}, {"pages", 8}, {"note", "two words"}});
  EXPECT_THAT(
      out.text(),
      MatchesRegex("[0-9-]+T[0-9:]+\\.[0-9]+Z info job\\.done job=ocr-1 pages=8 note=\"two words\"\n"));
}

TEST(Log, AJsonLineIsOneObjectWithTypedValues) {
  StderrPipe out;
  log_start(LogFormat::kJson, LogLevel::kInfo);
  log_warn("job.slow",
           {{"job", "a \"b\"\n\x01\xff"}, {"ms", 12.5}, {"bytes", std::uint32_t{7}}, {"odd", std::nan("")}});
  const std::string text = out.text();
  ASSERT_THAT(text, EndsWith("}\n"));
  const auto line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "warn");
  EXPECT_EQ(line["event"], "job.slow");
  EXPECT_EQ(line["job"], "a \"b\"\n\x01\xEF\xBF\xBD");
  EXPECT_EQ(line["ms"], 12.5);
  EXPECT_EQ(line["bytes"], 7);
  EXPECT_TRUE(line["odd"].is_string());
  EXPECT_THAT(line["time"].get<std::string>(), EndsWith("Z"));
}

TEST(Log, LinesBelowTheLevelAreLeftOut) {
  StderrPipe out;
  log_start(LogFormat::kText, LogLevel::kWarn);
  log_info("quiet");
  log_error("loud");
  const std::string text = out.text();
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
  EXPECT_THAT(text, HasSubstr("error loud"));
}

TEST(Log, AnApiKeyIsMaskedWhereverItStands) {
  for (LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    StderrPipe out;
    log_start(format, LogLevel::kInfo);
    log_info("a", {{"header", "Bearer " + secret_key()}, {"odd", "mr_live_" + std::string(30, 'T')}});
    log_info("key " + secret_key() + " and " + secret_key());
    const std::string text = out.text();
    EXPECT_THAT(text, HasSubstr("mr_live_abcd1234_****"));
    EXPECT_THAT(text, HasSubstr("mr_live_****"));
    EXPECT_THAT(text, Not(HasSubstr("SS")));
    EXPECT_THAT(text, Not(HasSubstr("TT")));
  }
}

TEST(Log, LinesOutsideStartAndStopAreWrittenAtOnce) {
  StderrPipe out;
  log_start(LogFormat::kText, LogLevel::kInfo);
  log_stop();
  log_info("late");
  EXPECT_THAT(out.text(), EndsWith(" info late\n"));
}

TEST(Log, LinesOfTheSameMomentAreWrittenTogetherInTheirOrder) {
  constexpr int kLines = 500;
  StderrPipe out;
  log_start(LogFormat::kText, LogLevel::kInfo);
  for (int i = 0; i < kLines; ++i) log_info("line." + std::to_string(i) + ".");
  const auto writes = out.writes();
  EXPECT_LT(writes.size(), kLines);
  std::string all;
  for (const std::string& each : writes) {
    EXPECT_THAT(each, EndsWith("\n")) << "each write must be a complete line";
    all += each;
  }
  std::size_t at = 0;
  for (int i = 0; i < kLines; ++i) {
    at = all.find("line." + std::to_string(i) + ".\n", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(Log, WhatWasLoggedBeforeAFlushIsWrittenAfterIt) {
  StderrPipe pipe;
  log_start(LogFormat::kText, LogLevel::kInfo);
  log_info("before");
  log_flush();
  EXPECT_TRUE(pipe.has_text());
  EXPECT_THAT(pipe.text(), EndsWith(" before\n"));
}

TEST(Log, AStalledReaderLosesLinesAndNeverBlocksTheProcess) {
  StderrPipe out;
  out.make_small();
  log_start(LogFormat::kText, LogLevel::kInfo);
  const std::uint64_t before = log_dropped();
  const std::string value(1'000, 'v');
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) log_info("flood", {{"value", value}});
  log_stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  EXPECT_GT(log_dropped(), before + 5'000);
  log_start(LogFormat::kText, LogLevel::kInfo);
}

TEST(Log, AClosedPipeDoesNotEndTheProcess) {
  StderrPipe out;
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  out.close_reader();
  log_start(LogFormat::kText, LogLevel::kInfo);
  log_info("nobody");
  log_stop();
  ::signal(SIGPIPE, old);
}

}  // namespace
}  // namespace millrace::base::log_test
