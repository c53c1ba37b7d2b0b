#include "app/cli/machines/exec_stream.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

using nlohmann::json;

struct Printed {
  std::string out, err;
};

Printed printed(const json& event) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(print_event(event));
  const std::string out = ::testing::internal::GetCapturedStdout();
  return {out, ::testing::internal::GetCapturedStderr()};
}

TEST(ExecEvents, OutputGoesToItsStreamAsItWasWritten) {
  EXPECT_EQ(printed({{"type", "stdout"}, {"chunk", "a\n"}}).out, "a\n");
  const Printed error = printed({{"type", "stderr"}, {"chunk", "/w=="}, {"encoding", "base64"}});
  EXPECT_EQ(error.out, "");
  EXPECT_EQ(error.err, "\xff");
}

TEST(ExecEvents, AWarningIsALineOnStderr) {
  const Printed warning = printed({{"type", "lifecycle"}, {"message", "3 files were left out"}});
  EXPECT_EQ(warning.out, "");
  EXPECT_EQ(warning.err, "millrace: 3 files were left out\n");
}

TEST(ExecEvents, EventsThatOnlyChangeTheStatusAreNotPrinted) {
  const Printed running = printed({{"type", "lifecycle"}, {"status", "running"}});
  EXPECT_EQ(running.out + running.err, "");
}

}  // namespace
}  // namespace millrace::cli
