#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/machines/running.h"

// The size of a machine limits the sum of its commands.
namespace millrace::machines {
namespace {

using How = CommandResult::How;

class SandboxLimitsTest : public SandboxTest {
 protected:
  void SetUp() override {
    SandboxTest::SetUp();
    if (sandbox_ && sandbox_->host_facts().limits == "rlimits")
      GTEST_SKIP() << "this host has no control groups";
  }
  CommandRequest hog(int mib) const {
    CommandRequest order = order_of({"python3", "-c",
                                     "import sys\n"
                                     "b = bytearray(" +
                                         std::to_string(mib) +
                                         " << 20)\n"
                                         "for i in range(0, len(b), 4096): b[i] = 1\n"
                                         "print('up', flush=True); sys.stdin.read(0)\n"
                                         "import signal; signal.pause()\n"});
    order.machine.memory_mib = 128;
    return order;
  }
};

TEST_F(SandboxLimitsTest, MemoryIsBoundedForTheSumOfTwoCommands) {
  CommandRequest first_order = hog(80);
  Running first(*sandbox_, first_order);
  ASSERT_TRUE(first.says("up")) << "a single command fits";
  CommandRequest second_order = hog(80);
  second_order.timeout = std::chrono::milliseconds(20'000);
  Running second(*sandbox_, second_order);
  // The kernel may kill either of the two.
  const bool second_is_up = second.says("up");
  if (second_is_up) second.stop.kill();
  if (!second_is_up) first.stop.kill();
  const CommandResult killed = second_is_up ? first.end() : second.end();
  EXPECT_EQ(killed.how, How::kSignalled) << killed.message;
  EXPECT_EQ(killed.signal, SIGKILL);
  ASSERT_TRUE(killed.limit);
  EXPECT_EQ(killed.limit->code, base::Code::kOutOfMemory);
  EXPECT_EQ(killed.limit->message,
            "the machine ran out of memory: its commands used 128 of 128 MiB (memory_mib), and the kernel "
            "killed a process");
}

TEST_F(SandboxLimitsTest, ACommandWhoseChildWasKilledForMemorySaysSo) {
  CommandRequest order = shell("(tail /dev/zero); exit $?");
  order.machine.memory_mib = 64;
  const Ran failed = run(order);
  EXPECT_EQ(failed.end.exit_code, 128 + SIGKILL);
  ASSERT_TRUE(failed.end.limit);
  EXPECT_EQ(failed.end.limit->code, base::Code::kOutOfMemory);
  order.command.back() = "(tail /dev/zero); true";
  const Ran succeeded = run(order);
  EXPECT_EQ(succeeded.end.how, How::kExited);
  EXPECT_EQ(succeeded.end.exit_code, 0);
  EXPECT_FALSE(succeeded.end.limit);
  ASSERT_EQ(succeeded.end.warnings.size(), 1U);
  EXPECT_THAT(succeeded.end.warnings[0], testing::HasSubstr("64 of 64 MiB (memory_mib)"));
  order.command.back() = "kill -9 $$";
  EXPECT_FALSE(run(order).end.limit) << "the limit was reached by an earlier command";
}

TEST_F(SandboxLimitsTest, ACommandThatStartsTooManyProcessesSaysSo) {
  const Ran ran = run(shell("i=0; while [ $i -lt 600 ]; do sleep 100 & i=$((i+1)); done"));
  EXPECT_EQ(ran.end.exit_code, 2) << ran.err;
  ASSERT_TRUE(ran.end.limit) << ran.err;
  EXPECT_EQ(ran.end.limit->code, base::Code::kProcessLimit);
  EXPECT_THAT(ran.end.limit->message, testing::HasSubstr("512 processes"));
  EXPECT_FALSE(run(shell("exit 2")).end.limit);
}

TEST_F(SandboxLimitsTest, ACommandThatFindsNoProcessLeftSaysSo) {
  CommandRequest order = shell(
      "i=0; (while [ $i -lt 600 ]; do sleep 100 & i=$((i+1)); done) 2>/dev/null; echo up; "
      "while :; do read wait || exec sleep 100; done");
  Running first(*sandbox_, order);
  ASSERT_TRUE(first.says("up"));
  const Ran second = run(order_of({"true"}));
  EXPECT_EQ(second.end.how, How::kPrepareFailed) << second.end.message << second.end.detail;
  ASSERT_TRUE(second.end.limit);
  EXPECT_EQ(second.end.limit->code, base::Code::kProcessLimit);
  first.stop.kill();
  first.end();
}

TEST_F(PlainSandboxTest, ALimitThatItsSignalNamesIsNamed) {
  CommandRequest order = shell("ulimit -S -t 1; while :; do :; done");
  const Ran busy = run(order);
  EXPECT_EQ(busy.end.signal, SIGXCPU);
  ASSERT_TRUE(busy.end.limit);
  EXPECT_EQ(busy.end.limit->code, base::Code::kCpuTimeExceeded);
  order.command.back() = "ulimit -f 1; exec head -c 100000 /dev/zero > file";
  const Ran large = run(order);
  EXPECT_EQ(large.end.signal, SIGXFSZ);
  ASSERT_TRUE(large.end.limit);
  EXPECT_EQ(large.end.limit->code, base::Code::kOutOfDisk);
  EXPECT_THAT(large.end.limit->message, testing::HasSubstr("1024 MiB"));
}

class SmallFilesTest : public SandboxTest {
 protected:
  Sandbox::Options options() const override {
    Sandbox::Options options = SandboxTest::options();
    options.file_bytes = 1 << 20;
    return options;
  }
};

TEST_F(SmallFilesTest, AFileThatAChildOfAShellCannotGrowIsNamed) {
  for (const char* const folder : {"/workspace/deep/er", "/artifacts/deep/er"}) {
    const Ran full = run(shell("mkdir -p " + std::string(folder) + "; cd " + folder + "; yes > f"));
    EXPECT_EQ(full.end.exit_code, 128 + SIGXFSZ) << full.err;
    ASSERT_TRUE(full.end.limit) << folder;
    EXPECT_EQ(full.end.limit->code, base::Code::kOutOfDisk);
    EXPECT_EQ(full.end.limit->message,
              "a command may write files of at most 1 MiB, and a file reached this size");
  }
  run(shell("touch -d 2001-01-01 deep/er/f"));
  const Ran chosen = run(shell("exit 153"));
  EXPECT_EQ(chosen.end.exit_code, 153);
  EXPECT_FALSE(chosen.end.limit) << "the full file is of an earlier command";
  const Ran own = run(shell("ulimit -f 1; (yes > small); exit $?"));
  EXPECT_EQ(own.end.exit_code, 153) << own.err;
  EXPECT_FALSE(own.end.limit) << "the command has set this limit itself";
}

TEST_F(SmallFilesTest, AProcessLeftBehindThatReachesTheFileSizeIsNamed) {
  const Ran ran =
      run(shell("mkfifo pid; (sh -c 'echo $$ > pid; exec yes > f' &); read -r p < pid; "
                "while kill -0 $p 2>/dev/null; do :; done; exit 7"));
  EXPECT_EQ(ran.end.exit_code, 7) << ran.err;
  ASSERT_TRUE(ran.end.limit);
  EXPECT_EQ(ran.end.limit->code, base::Code::kOutOfDisk);
}

TEST_F(PlainSandboxTest, ProcessorTimeThatAChildOfAShellUsedUpIsNamed) {
  const Ran busy = run(shell("(ulimit -S -t 1; while :; do :; done); exit $?"));
  EXPECT_EQ(busy.end.exit_code, 128 + SIGXCPU) << busy.err;
  ASSERT_TRUE(busy.end.limit);
  EXPECT_EQ(busy.end.limit->code, base::Code::kCpuTimeExceeded);
  EXPECT_FALSE(run(shell("exit 152")).end.limit);
}

TEST_F(SandboxLimitsTest, FilesInTmpCountAsMemory) {
  CommandRequest order =
      shell("head -c 60000000 /dev/zero > /tmp/a && head -c 60000000 /dev/zero > /dev/shm/b");
  order.machine.memory_mib = 64;
  const Ran ran = run(order);
  const bool killed = ran.end.how == How::kSignalled || ran.end.exit_code != 0;
  EXPECT_TRUE(killed) << ran.end.message;
  order.machine.memory_mib = 256;
  const Ran fits = run(order);
  EXPECT_EQ(fits.end.how, How::kExited);
  EXPECT_EQ(fits.end.exit_code, 0) << "the group must get the machine's new size; " << fits.err;
}

TEST_F(SandboxLimitsTest, AForkBombOfManyCommandsLeavesTheHostAlone) {
  const std::string bomb = "bomb() { bomb | bomb & }; bomb; exec sleep 600";
  CommandRequest order = shell(bomb);
  order.timeout = std::chrono::milliseconds(1'500);
  CommandRequest other = order_of(order.command);
  other.timeout = order.timeout;
  Running second(*sandbox_, other);
  run(order);
  second.end();
  EXPECT_EQ(output_of("echo well"), "well\n");
}

TEST_F(SandboxLimitsTest, AStoppedMachineLeavesNoGroup) {
  output_of("true");
  const CommandRequest order = shell("true");
  ASSERT_TRUE(sandbox_->stop(order.machine, {}));
  EXPECT_EQ(output_of("echo again"), "again\n");
}

TEST_F(PlainSandboxTest, WithoutGroupsEachProcessIsBounded) {
  EXPECT_EQ(sandbox_->host_facts().limits, "rlimits");
  CommandRequest order = order_of({"python3", "-c", "b = bytearray(1 << 30)"});
  order.machine.memory_mib = 256;
  const Ran ran = run(order);
  EXPECT_NE(ran.err.find("MemoryError"), std::string::npos) << ran.err;
}

TEST_F(PlainSandboxTest, ACommandThatHoldsTooMuchProcessorTimeEnds) {
  CommandRequest order = shell("ulimit -t");
  order.timeout = std::chrono::milliseconds(5'000);
  const Ran ran = run(order);
  EXPECT_GE(std::stoi(ran.out), 15)
      << "the limit is the time-out times the number of processors, plus a reserve";
  EXPECT_LT(std::stoi(ran.out), 5 * 4096);
}

}  // namespace
}  // namespace millrace::machines
