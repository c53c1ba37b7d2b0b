#include <csignal>

#include <unistd.h>

#include "tests/contract/driver_contract.h"
#include "tests/support/processes.h"
#include "tests/support/wait_until.h"

namespace millrace::machines {
namespace {

using How = CommandResult::How;
using std::chrono::milliseconds;
using support::processes_with;
using Steady = std::chrono::steady_clock;

// A sleep duration that no other process uses, so processes are found by it.
std::string mark_of(int number) { return std::to_string(number) + "." + std::to_string(::getpid()) + "1"; }

// A daemonised process in its own session that ignores SIGTERM, and a process that waits.
std::string stubborn(const std::string& mark) {
  return "(setsid sh -c 'trap \"\" TERM HUP INT; echo up; while :; do sleep " + mark + "; done' &) ; sleep " +
         mark;
}

// Signals are blocked until the script waits for them, so none arrives between two steps.
CommandRequest python(CommandRequest request, const std::string& script) {
  request.command = {"python3", "-c",
                     "import os, signal\n"
                     "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n" +
                         script};
  return request;
}

TEST_P(DriverContract, ATimeOutLeavesNoProcessEvenOneThatHides) {
  const std::string mark = mark_of(7411);
  CommandRequest request = shell(stubborn(mark));
  request.timeout = milliseconds(1'000);
  const auto begin = Steady::now();
  const CommandRan ran = run(request);
  EXPECT_EQ(ran.end.how, How::kTimedOut);
  EXPECT_EQ(ran.out, "up\n");
  EXPECT_EQ(processes_with(mark), 0);
  EXPECT_LT(Steady::now() - begin, kStopGrace)
      << "SIGTERM ended the shell, so the remaining processes were killed at once";
}

TEST_P(DriverContract, StopSendsSigtermToTheWholeTree) {
  const std::string script =
      "ends = os.pipe()\n"
      "if os.fork() == 0:\n"
      "  os.setsid()\n"
      "  if os.fork() > 0: os._exit(0)\n"
      "  os.write(1, b'up'); signal.sigwait([signal.SIGTERM]); os.write(1, b'got it'); os._exit(0)\n"
      "os.close(ends[1]); signal.sigwait([signal.SIGTERM]); os.read(ends[0], 1)";
  RunningCommand running(*host_, python(order_of({}), script));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.stop();
  EXPECT_TRUE(running.says("got it"));
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_LT(Steady::now() - begin, kStopGrace) << "they exited on SIGTERM, before the grace time was over";
}

TEST_P(DriverContract, WhatIgnoresSigtermIsKilledAfterTheGrace) {
  const std::string mark = mark_of(7412);
  RunningCommand running(*host_, shell("trap '' TERM; " + stubborn(mark)));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.stop();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_GE(Steady::now() - begin, kStopGrace);
  EXPECT_EQ(processes_with(mark), 0);
}

TEST_P(DriverContract, KillEndsTheTreeAtOnce) {
  const std::string mark = mark_of(7413);
  RunningCommand running(*host_, shell("trap '' TERM; " + stubborn(mark)));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.kill();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_LT(Steady::now() - begin, kStopGrace);
  EXPECT_EQ(processes_with(mark), 0);
}

TEST_P(DriverContract, KillCutsTheGraceOfAStopShort) {
  RunningCommand running(*host_, python(order_of({}),
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

TEST_P(DriverContract, AStoppedProcessIsWokenToTakeItsSigterm) {
  RunningCommand running(*host_, shell("echo up; kill -STOP $$"));
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.stop();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_LT(Steady::now() - begin, kStopGrace);
}

TEST_P(DriverContract, ACommandThatIsCancelledBeforehandNeverBegins) {
  CancelToken stop;
  stop.stop();
  EXPECT_EQ(run(shell("echo begun; touch begun"), stop).end.how, How::kStopped);
  EXPECT_EQ(output_of("ls"), "");
}

TEST_P(DriverContract, WhatACommandLeavesRunningEndsWithIt) {
  const std::string mark = mark_of(7414);
  const auto begin = Steady::now();
  const CommandRan ran = run(shell("(setsid sleep " + mark + " &); sleep " + mark + " & echo done"));
  EXPECT_EQ(ran.end.how, How::kExited);
  EXPECT_EQ(ran.out, "done\n") << "the other processes still hold the pipe";
  EXPECT_TRUE(ran.end.output_open);
  EXPECT_EQ(processes_with(mark), 0);
  EXPECT_LT(Steady::now() - begin, milliseconds(5'000));
}

TEST_P(DriverContract, WhatIsWrittenAfterTheCommandsEndArrives) {
  CommandRequest request =
      order_of({"bash", "-c",
                "exec > >(read first; sleep 0.5; echo $first; cat) 2>&1; echo one; echo two >&2; exit 3"});
  request.output_grace = milliseconds(30'000);
  const auto begin = Steady::now();
  const CommandRan ran = run(request);
  EXPECT_EQ(ran.end.how, How::kExited);
  EXPECT_EQ(ran.end.exit_code, 3);
  EXPECT_EQ(ran.out, "one\ntwo\n");
  EXPECT_FALSE(ran.end.output_open);
  EXPECT_LT(Steady::now() - begin, milliseconds(15'000)) << "the output was closed";
}

TEST_P(DriverContract, ProcessesThatDoNotHoldTheOutputAreNotWaitedFor) {
  const std::string mark = mark_of(7417);
  CommandRequest request = shell("sleep " + mark + " >/dev/null 2>&1 & echo done");
  request.output_grace = milliseconds(60'000);
  const auto begin = Steady::now();
  const CommandRan ran = run(request);
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_FALSE(ran.end.output_open);
  EXPECT_EQ(processes_with(mark), 0);
  EXPECT_LT(Steady::now() - begin, milliseconds(15'000));
}

TEST_P(DriverContract, AStopEndsTheWaitForOutput) {
  const std::string mark = mark_of(7418);
  CommandRequest request = shell("sleep " + mark + " & echo up");
  request.output_grace = milliseconds(60'000);
  RunningCommand running(*host_, request);
  ASSERT_TRUE(running.says("up"));
  const auto begin = Steady::now();
  running.stop.stop();
  running.end();
  EXPECT_LT(Steady::now() - begin, milliseconds(30'000));
  EXPECT_EQ(processes_with(mark), 0);
}

TEST_P(DriverContract, TheTimeOutEndsTheWaitForOutput) {
  const std::string mark = mark_of(7419);
  CommandRequest request = shell("sleep " + mark + " & echo up; exit 3");
  request.output_grace = milliseconds(60'000);
  request.timeout = milliseconds(2'000);
  const auto begin = Steady::now();
  const CommandRan ran = run(request);
  EXPECT_EQ(ran.end.how, How::kExited);
  EXPECT_EQ(ran.end.exit_code, 3);
  EXPECT_LT(Steady::now() - begin, milliseconds(30'000));
  EXPECT_EQ(processes_with(mark), 0);
}

TEST_P(DriverContract, WhatClearedItsEnvironmentAndLeftItsSessionEndsToo) {
  const std::string mark = mark_of(7415);
  run(shell("(env -i setsid sleep " + mark + " &); echo done"));
  EXPECT_EQ(processes_with(mark), 0);
}

TEST_P(DriverContract, TheEnvironmentIsInNoProcessesArguments) {
  CommandRequest request = shell("echo up; exec sleep 600");
  const std::string secret = "a-secret-" + mark_of(7416);
  request.environment = {{"TOKEN", secret}};
  RunningCommand running(*host_, request);
  ASSERT_TRUE(running.says("up"));
  EXPECT_EQ(processes_with(secret), 0);
  running.stop.kill();
  EXPECT_EQ(running.end().how, How::kStopped);
}

}  // namespace
}  // namespace millrace::machines
