#include <filesystem>

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include "app/cli/machines/ssh_command.h"
#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

TEST(Foreground, TheProgramsExitCodeIsTheResult) {
  Foreground foreground;
  EXPECT_EQ(foreground.run({"/bin/sh", "-c", "exit 7"}).value(), 7);
  EXPECT_EQ(foreground.run({"/bin/sh", "-c", "kill -KILL $$"}).value(), 128 + SIGKILL);
}

TEST(Foreground, AProgramThatIsNotThereIsNamed) {
  Foreground foreground;
  const auto ended = foreground.run({"/nowhere/ssh"});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "/nowhere/ssh cannot be started: No such file or directory");
}

TEST(Foreground, WhatWouldEndUsIsPassedOnAndTheEndIsStillReached) {
  Foreground foreground;
  const auto ended =
      foreground.run({"/bin/sh", "-c", "trap 'exit 5' TERM; kill -TERM $PPID; while :; do :; done"});
  EXPECT_EQ(ended.value(), 5);
}

TEST(Foreground, TheProgramHasTheSignalsOfAnOrdinaryOne) {
  Foreground foreground;
  EXPECT_EQ(foreground.run({"/bin/sh", "-c", "grep -q '^SigBlk:.0*$' /proc/self/status"}).value(), 0);
}

TEST(FindProgram, IsTheFirstExecutableFileInPath) {
  const support::TempDir folder;
  const fs::path plain = folder.write("a/tool", "text"), program = folder.write("b/tool", "text");
  fs::permissions(program, fs::perms::owner_all);
  const std::string before = ::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  const std::string path = folder.str() + "/none:" + folder.str() + "/a:" + folder.str() + "/b";
  ::setenv("PATH", path.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(find_program("tool"), program.string());
  EXPECT_FALSE(find_program("other"));
  ::setenv("PATH", before.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace
}  // namespace millrace::cli
