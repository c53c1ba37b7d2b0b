#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "machines/sandbox/group_tree.h"
#include "tests/support/wait_until.h"
#include "tests/unit/machines/sandbox_fixture.h"

// Tests the machines' control groups when a supervisor moves the gateway to another group.
namespace millrace::machines {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string own_place() {
  const CgroupPaths places =
      cgroup_paths(read_group_file("/proc/self/cgroup"), read_group_file("/proc/self/mountinfo"));
  return places.memory.empty() ? places.unified : places.memory;
}

bool move_to(const std::string& group) { return write_group_file(group + "/cgroup.procs", "0"); }

// Removes the groups from the innermost outwards, as a supervisor does. False: a group still contains a
// process.
bool remove_tree(const std::string& group) {
  std::vector<std::string> inner;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(group, gone)) {
    if (entry.is_directory()) inner.push_back(entry.path().string());
  }
  for (const std::string& each : inner) remove_tree(each);
  return ::rmdir(group.c_str()) == 0;
}

// Before the sandbox is opened, the fixture moves the test's process to a new control group.
class SandboxGroupsTest : public SandboxTest {
 protected:
  void SetUp() override {
    before_ = own_place();
    if (before_.empty()) GTEST_SKIP() << "this host has no control groups";
    for (std::string* each : {&first_, &second_}) {
      *each = before_ + "/millrace-test-" + std::to_string(::getpid()) + (each == &first_ ? "-a" : "-b");
      if (!make_group(*each)) GTEST_SKIP() << "this user cannot create control groups";
    }
    if (!move_to(first_)) GTEST_SKIP() << "this user cannot move processes into control groups";
    SandboxTest::SetUp();
    if (sandbox_ && sandbox_->host_facts().limits == "rlimits")
      GTEST_SKIP() << "machines cannot have control groups here";
  }
  void TearDown() override {
    sandbox_.reset();
    EXPECT_TRUE(before_.empty() || move_to(before_));
    for (const std::string& each : {first_, second_}) {
      EXPECT_TRUE(support::wait_until([&] { return each.empty() || remove_tree(each); })) << each;
    }
  }
  bool has_group_of_machine(const std::string& place) const {
    for (const auto& each : fs::directory_iterator(place + "/millrace"))
      if (fs::exists(each.path() / schemas::machine_id(machine_))) return true;
    return false;
  }
  void be_moved() {
    ASSERT_TRUE(move_to(second_));
    ASSERT_TRUE(support::wait_until([&] { return remove_tree(first_); }));
    first_.clear();
  }

  std::string before_, first_, second_;
};

// Runs a task on a thread without control groups, as in a container that hides them.
template <class Task>
void without_groups(Task task) {
  std::jthread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("none", "/sys/fs/cgroup", "tmpfs", MS_RDONLY, nullptr), 0);
    task();
  }).join();
}

TEST_F(SandboxGroupsTest, CommandsGoOnBelowTheGroupThatTheGatewayWasMovedTo) {
  output_of("true");
  ASSERT_NO_FATAL_FAILURE(be_moved());
  EXPECT_EQ(output_of("echo well"), "well\n");
  EXPECT_TRUE(has_group_of_machine(second_));
  const auto facts = sandbox_->start(order_of({"true"}).machine, {});
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_THAT(facts->limits, HasSubstr("cgroup"));
}

TEST_F(SandboxGroupsTest, AMachineOfTheOldGroupIsBoundedInTheNewOne) {
  output_of("true");
  ASSERT_NO_FATAL_FAILURE(be_moved());
  CommandRequest order =
      shell("head -c 60000000 /dev/zero > /tmp/a && head -c 60000000 /dev/zero > /dev/shm/b");
  order.machine.memory_mib = 64;
  const Ran ran = run(order);
  const bool killed = ran.end.how == CommandResult::How::kSignalled;
  EXPECT_TRUE(killed || (ran.end.how == CommandResult::How::kExited && ran.end.exit_code != 0))
      << ran.end.message;
}

TEST_F(SandboxGroupsTest, AGroupOfOursThatIsSmallerThanTheMachineChangesNothing) {
  const bool v2 = fs::exists(second_ + "/memory.max");
  ASSERT_TRUE(write_group_file(second_ + (v2 ? "/memory.max" : "/memory.limit_in_bytes"), "402653184"));
  output_of("true");
  ASSERT_NO_FATAL_FAILURE(be_moved());
  EXPECT_EQ(output_of("echo well"), "well\n");
}

TEST_F(SandboxGroupsTest, WithoutGroupsACommandGoesOnByRlimitsAndTheLogSaysSoOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  output_of("true");
  const schemas::Machine machine = order_of({"true"}).machine;
  testing::internal::CaptureStderr();
  without_groups([&] {
    EXPECT_EQ(output_of("echo well"), "well\n");
    EXPECT_EQ(output_of("echo again"), "again\n");
    const auto facts = sandbox_->start(machine, {});
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->limits, "rlimits");
  });
  const std::string log = testing::internal::GetCapturedStderr();
  const std::size_t said = log.find("machine_limits_lost");
  EXPECT_NE(said, std::string::npos) << log;
  EXPECT_EQ(log.find("machine_limits_lost", said + 1), std::string::npos) << log;
  const auto facts = sandbox_->start(machine, {});
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_THAT(facts->limits, Not("rlimits")) << "control groups are used again";
}

}  // namespace
}  // namespace millrace::machines
