#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "app/cli/terminal.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAtOnce{0};
constexpr std::chrono::hours kNever{1};

// Starts the delayed line and reads the first line from the pipe.
std::string first_line_of(DelayedLine& line, int (&ends)[2]) {
  line.begin();
  std::FILE* file = ::fdopen(ends[0], "r");
  char text[64] = {};
  const char* got = std::fgets(text, sizeof text, file);
  std::fclose(file);
  return got == nullptr ? "" : got;
}

// Redirects stderr to a pipe during its lifetime.
class CaughtErrors {
 public:
  CaughtErrors() : before_(::dup(STDERR_FILENO)) {
    if (::pipe(ends) == 0) ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
  }
  ~CaughtErrors() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  CaughtErrors(const CaughtErrors&) = delete;
  CaughtErrors& operator=(const CaughtErrors&) = delete;
  int ends[2] = {-1, -1};

 private:
  int before_;
};

TEST(DelayedLine, IsPrintedWhenTheWaitLasts) {
  CaughtErrors errors;
  DelayedLine line("still queued", kAtOnce, false);
  EXPECT_EQ(first_line_of(line, errors.ends), "still queued\n");
}

TEST(DelayedLine, IsNotPrintedAfterTheWaitNorWhenItIsOff) {
  ::testing::internal::CaptureStderr();
  {
    DelayedLine over("still queued", kNever, false);
    over.begin();
    over.end();
    over.begin();
    DelayedLine off("still queued", kAtOnce, true);
    off.begin();
    DelayedLine unbegun("still queued", kAtOnce, false);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace millrace::cli
