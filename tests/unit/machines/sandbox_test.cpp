#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/machine_number.h"
#include "tests/unit/machines/sandbox_fixture.h"

namespace millrace::machines {
namespace {

using How = CommandEnd::How;

TEST_F(SandboxTest, TheExitCodeIsTheCommandsOwn) {
  for (const int code : {0, 1, 7, 126, 127, 128 + SIGTERM, 255}) {
    const Ran ran = run(shell("exit " + std::to_string(code)));
    EXPECT_EQ(ran.end.how, How::kExited) << ran.end.message;
    EXPECT_EQ(ran.end.exit_code, code);
  }
}

TEST_F(SandboxTest, ASignalIsToldFromAnExitCode) {
  for (const int signal : {SIGTERM, SIGKILL, SIGSEGV}) {
    const Ran ran = run(shell("kill -" + std::to_string(signal) + " $$"));
    EXPECT_EQ(ran.end.how, How::kSignalled) << ran.end.message;
    EXPECT_EQ(ran.end.signal, signal);
  }
}

TEST_F(SandboxTest, StandardInputArrivesWholeAndEnds) {
  CommandOrder order = order_of({"sha256sum"});
  EXPECT_EQ(run(order).out.substr(0, 16), "e3b0c44298fc1c14") << "of nothing";
  order.command = {"cat"};
  order.input.resize(std::size_t{3} << 20);
  for (std::size_t i = 0; i < order.input.size(); ++i) order.input[i] = static_cast<char>(i * 7 + i / 256);
  const Ran ran = run(order);
  EXPECT_TRUE(ran.out == order.input) << "every byte value comes through";
}

TEST_F(SandboxTest, ACommandThatDoesNotReadItsInputEndsWell) {
  CommandOrder order = order_of({"true"});
  order.input.assign(std::size_t{1} << 20, 'x');
  EXPECT_EQ(run(order).end.how, How::kExited);
}

TEST_F(SandboxTest, TheInputCannotBeGrownByTheCommand) {
  EXPECT_EQ(told("(echo more >> /proc/self/fd/0) 2>/dev/null || echo refused"), "refused\n");
}

TEST_F(SandboxTest, TheStreamsAreApart) {
  const Ran ran = run(shell("echo out; echo err >&2"));
  EXPECT_EQ(ran.out, "out\n");
  EXPECT_EQ(ran.err, "err\n");
}

TEST_F(SandboxTest, AllOfALargeOutputIsTold) {
  std::size_t bytes = 0;
  CommandHooks hooks;
  hooks.output = [&](schemas::OutputStream, std::string_view chunk) { bytes += chunk.size(); };
  const CommandEnd end =
      sandbox_->run(order_of({"head", "-c", "50000000", "/dev/zero"}), StopSwitch(), hooks);
  EXPECT_EQ(end.how, How::kExited);
  EXPECT_EQ(bytes, 50'000'000U);
}

TEST_F(SandboxTest, ArgumentsAreNotSeenByAShell) {
  EXPECT_EQ(run(order_of({"printf", "%s|", "$HOME", "a b", "", "*", "\xff"})).out, "$HOME|a b||*|\xff|");
}

TEST_F(SandboxTest, TheFolderIsTheWorkspaceUnlessOneIsNamed) {
  EXPECT_EQ(told("mkdir -p a/b; pwd"), "/workspace\n");
  CommandOrder order = order_of({"pwd"});
  order.cwd = "a/b";
  EXPECT_EQ(run(order).out, "/workspace/a/b\n");
  order.cwd = "/tmp";
  EXPECT_EQ(run(order).out, "/tmp\n");
}

TEST_F(SandboxTest, AFolderThatIsNoneIsSaidSo) {
  told("echo x > file");
  CommandOrder order = order_of({"true"});
  order.cwd = "missing";
  EXPECT_EQ(run(order).end.how, How::kPrepareFailed);
  EXPECT_EQ(run(order).end.message, "cwd is not there");
  order.cwd = "file";
  EXPECT_EQ(run(order).end.how, How::kPrepareFailed);
  EXPECT_EQ(run(order).end.message, "cwd is not a folder");
  EXPECT_EQ(run(order).err, "") << "and nothing of it is in the output";
}

TEST_F(SandboxTest, ACommandThatCannotBeExecutedIsSaidSo) {
  told(
      "echo 'echo no' > plain; printf '#!/nowhere/sh\\n' > lost; echo 'echo yes' > bare; chmod 755 bare "
      "lost");
  const auto message = [this](const std::string& name) {
    const Ran ran = run(order_of({name}));
    EXPECT_EQ(ran.end.how, How::kPrepareFailed) << name;
    EXPECT_EQ(ran.out + ran.err, "");
    return ran.end.message;
  };
  const std::string missing = "the command, or the interpreter that it names, is not there";
  EXPECT_EQ(message("no-such-command"), missing);
  EXPECT_EQ(message("/no/such/command"), missing);
  EXPECT_EQ(message(""), missing);
  EXPECT_EQ(message("./lost"), missing);
  EXPECT_EQ(message("./plain"), "the command is not executable");
  EXPECT_EQ(message("/workspace"), "the command is not executable");
  EXPECT_EQ(message("./bare"), "the command is in no format that can be executed (a script begins with #!)");
}

TEST_F(SandboxTest, TheCommandIsLookedUpInThePathOfItsEnvironment) {
  told("mkdir -p bin; printf '#!/bin/sh\\necho mine\\n' > bin/tool; chmod 755 bin/tool");
  CommandOrder order = order_of({"tool"});
  EXPECT_EQ(run(order).end.how, How::kPrepareFailed);
  order.environment = {{"PATH", "/nowhere:/workspace/bin"}};
  EXPECT_EQ(run(order).out, "mine\n");
}

TEST_F(SandboxTest, TheEnvironmentIsTheOrdersAndLittleMore) {
  CommandOrder order = order_of({"env"});
  order.environment = {{"A", "1"},         {"HOME", "/tmp"},   {"A", "x=\ny"},
                       {"LD_PRELOAD", ""}, {"odd name.", "2"}, {"MILLRACE_ARTIFACTS", "/etc"}};
  EXPECT_EQ(run(order).out,
            "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/tmp\n"
            "MILLRACE_MACHINE_ID=dm-01890000-0000-7000-8000-0000000000ab\n"
            "MILLRACE_ARTIFACTS=/artifacts\n"
            "A=x=\ny\nLD_PRELOAD=\nodd name.=2\n");
}

TEST_F(SandboxTest, TheWorkspaceOutlivesACommandAndTmpDoesNot) {
  told("echo kept > /workspace/file; echo lost > /tmp/file; echo lost > /dev/shm/file");
  EXPECT_EQ(told("cat /workspace/file; ls /tmp /dev/shm"), "kept\n/dev/shm:\n\n/tmp:\n");
}

TEST_F(SandboxTest, TheMachinesFolderIsItsOwn) {
  told("touch file");
  struct stat machines {};
  struct stat own {};
  ASSERT_EQ(::stat((data_.str() + "/machines").c_str(), &machines), 0);
  ASSERT_EQ(::stat(workspace().c_str(), &own), 0);
  EXPECT_EQ(machines.st_mode & 07777, 0711U);
  EXPECT_EQ(own.st_mode & 07777, 0700U);
  EXPECT_EQ(own.st_uid, ::geteuid() == 0 ? 210'000 + support::machine_number() : ::geteuid());
}

TEST_F(SandboxTest, MachinesDoNotSeeEachOther) {
  told("echo secret > file");
  CommandOrder other = shell("ls /workspace; cat " + workspace() + "/file");
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
  if (::geteuid() != 0) GTEST_SKIP() << "the gateway's own user reaches its folders";
  support::TempDir outer;  // 0700
  const std::string data = outer.str() + "/data";
  ASSERT_EQ(::mkdir(data.c_str(), 0711), 0);
  process::Spawner spawner;
  auto opened = Sandbox::open({.data_dir = data}, spawner);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("chmod o+x"), std::string::npos) << opened.error().message;
}

TEST_F(SandboxTest, AHostThatFailsSaysNothingOfItsPaths) {
  CommandOrder order = order_of({"true"});
  order.machine.number = -1;
  const CommandEnd end = run(order).end;
  EXPECT_EQ(end.how, How::kHostFailed);
  EXPECT_EQ(end.message.find('/'), std::string::npos) << end.message;
}

}  // namespace
}  // namespace millrace::machines
