#include <csignal>

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
  EXPECT_EQ(killed.message, "killed: the machine's memory_mib (128) may have been used up");
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
