#include <csignal>
#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/machines/running.h"

namespace millrace::machines {
namespace {

using How = CommandEnd::How;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// A process that ignores SIGTERM, left by two forks in a session of its own, and one that waits. `mark` is an
// odd number of seconds: what they sleep.
std::string stubborn(const std::string& mark) {
  return "(setsid sh -c 'trap \"\" TERM HUP INT; echo up; while :; do sleep " + mark + "; done' &) ; sleep " +
         mark;
}

TEST_F(SandboxTest, TimeOutLeavesNoProcessEvenOneThatHidesFromIt) {
  CommandOrder order = shell(stubborn("7391.25"));
  order.timeout = milliseconds(300);
  const auto begin = Steady::now();
  const Ran ran = run(order);
  EXPECT_EQ(ran.end.how, How::kTimedOut);
  EXPECT_EQ(ran.out, "up\n");
  EXPECT_EQ(processes_with("7391.25"), 0);
  EXPECT_LT(Steady::now() - begin, milliseconds(5'000))
      << "the shell took SIGTERM, and with it ended the jail";
}

// The signal is held until it is waited for: it cannot come between two steps.
CommandOrder python(CommandOrder order, const std::string& script) {
  order.command = {"python3", "-c",
                   "import os, signal\n"
                   "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n" +
                       script};
  return order;
}

TEST_F(SandboxTest, StopSendsSigtermToTheWholeTree) {
  const std::string script =
      "ends = os.pipe()\n"
      "if os.fork() == 0:\n"
      "  os.setsid()\n"
      "  if os.fork() > 0: os._exit(0)\n"
      "  os.write(1, b'up'); signal.sigwait([signal.SIGTERM]); os.write(1, b'got it'); os._exit(0)\n"
      "os.close(ends[1]); signal.sigwait([signal.SIGTERM]); os.read(ends[0], 1)";
  Running running(*sandbox_, python(order_of({}), script));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.stop();
  EXPECT_TRUE(running.says("got it"));
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_LT(Steady::now() - begin, kStopGrace) << "they ended by themselves";
}

TEST_F(SandboxTest, WhatIgnoresSigtermIsKilledAfterTheGrace) {
  Running running(*sandbox_, shell("trap '' TERM; " + stubborn("7392.25")));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.stop();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_GE(Steady::now() - begin, kStopGrace);
  EXPECT_EQ(processes_with("7392.25"), 0);
}

TEST_F(SandboxTest, KillEndsTheTreeAtOnce) {
  Running running(*sandbox_, shell("trap '' TERM; " + stubborn("7393.25")));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.kill();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_LT(Steady::now() - begin, kStopGrace);
  EXPECT_EQ(processes_with("7393.25"), 0);
}

TEST_F(SandboxTest, KillCutsTheGraceOfAStopShort) {
  Running running(*sandbox_, python(order_of({}),
                                    "os.write(1, b'up')\n"
                                    "while True: signal.sigwait([signal.SIGTERM]); os.write(1, b'no')"));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.stop();
  ASSERT_TRUE(running.says("no"));
  running.stop.kill();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_LT(Steady::now() - begin, kStopGrace);
}

TEST_F(SandboxTest, ACommandToldToStopBeforehandNeverBegins) {
  StopSwitch stop;
  stop.stop();
  EXPECT_EQ(run(shell("echo begun; touch /workspace/begun"), stop).end.how, How::kStopped);
  EXPECT_EQ(told("ls /workspace"), "");
}

TEST_F(SandboxTest, WhatACommandLeavesRunningEndsWithIt) {
  const auto begin = Steady::now();
  const Ran ran = run(shell("(setsid sleep 7394.25 &); echo done"));
  EXPECT_EQ(ran.end.how, How::kExited);
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_EQ(processes_with("7394.25"), 0);
  EXPECT_LT(Steady::now() - begin, milliseconds(10'000));
}

TEST_F(SandboxTest, KillingAllThatItSeesEndsTheCommandAlone) {
  const Ran ran = run(shell("kill -9 1; kill -9 -1; echo still here; kill -9 $$"));
  EXPECT_EQ(ran.end.how, How::kSignalled);
  EXPECT_EQ(ran.end.signal, SIGKILL);
  EXPECT_EQ(ran.out, "still here\n");
}

TEST_F(SandboxTest, TheEnvironmentIsInNobodysArguments) {
  CommandOrder order = shell("echo up; exec sleep 600");
  order.environment = {{"TOKEN", "a-secret-7395"}};
  Running running(*sandbox_, order);
  ASSERT_TRUE(running.says("up"));
  EXPECT_EQ(processes_with("a-secret-7395"), 0);
  running.stop.kill();
  EXPECT_EQ(running.end().how, How::kStopped);
}

TEST_F(SandboxTest, AMachineStopsEvenWhileNobodyTakesTheOutput) {
  std::promise<void> released, blocked;
  std::once_flag once, first;
  CommandHooks hooks;
  hooks.output = [&, until = released.get_future().share()](auto, auto) {
    std::call_once(first, [&] { blocked.set_value(); });
    until.wait();
  };
  hooks.released = [&] { std::call_once(once, [&] { released.set_value(); }); };
  CommandEnd end;
  std::jthread command([&] { end = sandbox_->run(shell("echo up; exec sleep 600"), StopSwitch(), hooks); });
  blocked.get_future().wait();
  EXPECT_TRUE(sandbox_->stop(order_of({}).machine, {}));
  command.join();
  EXPECT_EQ(end.message, "the machine was stopped while the command ran");
}

TEST_F(SandboxTest, CommandsOfOneMachineRunSideBySide) {
  Running first(*sandbox_, shell("mkfifo go; echo up; read word < go; echo $word"));
  ASSERT_TRUE(first.says("up"));
  told("echo went > go");
  EXPECT_TRUE(first.says("went"));
  EXPECT_EQ(first.end().how, How::kExited);
}

TEST(Sandbox, WithAGatewayThatIsKilledItsCommandsEnd) {
  const support::TempDir data;
  ::chmod(data.str().c_str(), 0711);
  const pid_t gateway = ::fork();
  if (gateway == 0) {
    process::Spawner spawner;
    auto sandbox = Sandbox::open({.data_dir = data.str()}, spawner);
    CommandOrder order;
    order.command = {"sleep", "7396.25"};
    if (sandbox) (*sandbox)->run(order, StopSwitch(), {});
    ::_exit(0);
  }
  const auto ended = [&] { return ::waitpid(gateway, nullptr, WNOHANG) != 0; };
  bool over = false;
  EXPECT_TRUE(support::wait_until([&] { return (over = ended()) || processes_with("7396.25") > 0; }));
  if (over) GTEST_SKIP() << "no sandbox can be made here";
  ::kill(gateway, SIGKILL);
  ::waitpid(gateway, nullptr, 0);
  EXPECT_TRUE(support::wait_until([] { return processes_with("7396.25") == 0; }));
}

}  // namespace
}  // namespace millrace::machines
