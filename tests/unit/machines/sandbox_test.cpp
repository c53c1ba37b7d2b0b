#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/machine_number.h"
#include "tests/unit/machines/sandbox_fixture.h"

// The rules for every driver are in tests/contract/driver_contract.cpp.
namespace millrace::machines {
namespace {

using How = CommandResult::How;

TEST_F(SandboxTest, TheInputCannotBeGrownByTheCommand) {
  EXPECT_EQ(output_of("(echo more >> /proc/self/fd/0) 2>/dev/null || echo refused"), "refused\n");
}

TEST_F(SandboxTest, TheFolderIsTheWorkspaceUnlessOneIsNamed) {
  EXPECT_EQ(output_of("mkdir -p a/b; pwd"), "/workspace\n");
  CommandRequest order = order_of({"pwd"});
  order.cwd = "a/b";
  EXPECT_EQ(run(order).out, "/workspace/a/b\n");
  order.cwd = "/tmp";
  EXPECT_EQ(run(order).out, "/tmp\n");
}

TEST_F(SandboxTest, AScriptThatDoesNotNameItsInterpreterIsReported) {
  output_of("echo 'echo yes' > bare; chmod 755 bare");
  const Ran ran = run(order_of({"./bare"}));
  EXPECT_EQ(ran.end.how, How::kPrepareFailed);
  EXPECT_EQ(ran.end.message, "the command is not in an executable format (a script must begin with #!)");
}

TEST_F(SandboxTest, TheEnvironmentIsThatOfTheRequestWithFewAdditions) {
  CommandRequest order = order_of({"env"});
  order.environment = {{"A", "1"},         {"HOME", "/tmp"},   {"A", "x=\ny"},
                       {"LD_PRELOAD", ""}, {"odd name.", "2"}, {"MILLRACE_ARTIFACTS", "/etc"}};
  EXPECT_EQ(run(order).out,
            "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/tmp\nUSER=machine\nLOGNAME=machine\n"
            "MILLRACE_MACHINE_ID=dm-01890000-0000-7000-8000-0000000000ab\n"
            "MILLRACE_ARTIFACTS=/artifacts\n"
            "A=x=\ny\nLD_PRELOAD=\nodd name.=2\n");
}

TEST_F(SandboxTest, TheWorkspaceOutlivesACommandAndTmpDoesNot) {
  output_of("echo kept > /workspace/file; echo lost > /tmp/file; echo lost > /dev/shm/file");
  EXPECT_EQ(output_of("cat /workspace/file; ls /tmp /dev/shm"), "kept\n/dev/shm:\n\n/tmp:\n");
}

TEST_F(SandboxTest, TheMachinesFolderIsItsOwn) {
  output_of("touch file");
  struct stat machines {};
  struct stat own {};
  ASSERT_EQ(::stat((data_.str() + "/machines").c_str(), &machines), 0);
  ASSERT_EQ(::stat(workspace().c_str(), &own), 0);
  EXPECT_EQ(machines.st_mode & 07777, 0711U);
  EXPECT_EQ(own.st_mode & 07777, 0700U);
  EXPECT_EQ(own.st_uid, ::geteuid() == 0 ? 210'000 + support::machine_number() : ::geteuid());
}

TEST_F(SandboxTest, MachinesDoNotSeeEachOther) {
  output_of("echo secret > file");
  CommandRequest other = shell("ls /workspace; cat " + workspace() + "/file");
  other.machine.id = *base::Uuid::parse("01890000-0000-7000-8000-0000000000cd");
  other.machine.number = support::machine_number() + 1;
  EXPECT_EQ(run(other).out, "");
}

TEST_F(SandboxTest, ATrialLeavesNothingBehind) {
  EXPECT_TRUE(std::filesystem::is_empty(data_.path() / "machines"));
}

TEST(Sandbox, WithoutItsFirstProcessItSaysWhatToDo) {
  support::TempDir data;
  process::Spawner spawner;
  auto opened = Sandbox::open({.data_dir = data.str(), .init_program = "/nowhere/init"}, spawner);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("install it"), std::string::npos) << opened.error().message;
}

TEST(Sandbox, AFolderThatTheMachineCannotReachIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "without root, the user is the gateway's";
  support::TempDir outer;  // its mode is 0700
  const std::string data = outer.str() + "/data";
  ASSERT_EQ(::mkdir(data.c_str(), 0711), 0);
  process::Spawner spawner;
  auto opened = Sandbox::open({.data_dir = data}, spawner);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("chmod o+x"), std::string::npos) << opened.error().message;
}

TEST_F(SandboxTest, AHostThatFailsSaysNothingOfItsPaths) {
  CommandRequest order = order_of({"true"});
  order.machine.number = -1;
  const CommandResult end = run(order).end;
  EXPECT_EQ(end.how, How::kHostFailed);
  EXPECT_EQ(end.message.find('/'), std::string::npos) << end.message;
}

}  // namespace
}  // namespace millrace::machines
