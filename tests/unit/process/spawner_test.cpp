#include "platform/process/spawner.h"

#include <csignal>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/process/child.h"

namespace millrace::process {
namespace {

using std::chrono::milliseconds;

Command shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}, .fds = {}, .idle = false};
}

std::string output_of(Spawner& spawner, Command command) {
  auto captured = capture(spawner, std::move(command), {});
  return captured ? captured->out : "failed: " + captured.error().message;
}

TEST(Spawner, AProgramThatDoesNotExistIsAnError) {
  Spawner spawner;
  auto spawned =
      spawner.spawn({.argv = {"/nonexistent/program"}, .environment = {}, .fds = {}, .idle = false});
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().code, base::Code::kInternal);
}

TEST(Spawner, AChildGetsOnlyTheDescriptorsThatWereMapped) {
  Spawner spawner;
  auto pipe = base::make_pipe();
  ASSERT_TRUE(pipe);
  const base::Fd leaked(::dup(pipe->read.get()));  // not close-on-exec, as a careless library may leave it
  Command command = shell("ls /proc/self/fd");
  command.argv = {"/bin/ls", "/proc/self/fd"};
  command.fds = {{5, pipe->read.get()}};
  // Descriptor 3 is the folder that ls reads.
  EXPECT_EQ(output_of(spawner, command), "0\n1\n2\n3\n5\n");
}

TEST(Spawner, MappingsThatSwapTwoNumbersDoNotOverwriteEachOther) {
  Spawner spawner;
  auto first = base::make_pipe();
  auto second = base::make_pipe();
  ASSERT_TRUE(first && second);
  ASSERT_EQ(::write(first->write.get(), "first\n", 6), 6);
  ASSERT_EQ(::write(second->write.get(), "second\n", 7), 7);
  Command command = shell("read a; read b <&7; echo $a $b");
  command.fds = {{0, second->read.get()}, {7, first->read.get()}};
  EXPECT_EQ(output_of(spawner, command), "second first\n");
}

TEST(Spawner, AChildHasOnlyTheEnvironmentItWasGiven) {
  Spawner spawner;
  Command command{.argv = {"/usr/bin/env"}, .environment = {"ONLY=this"}, .fds = {}, .idle = false};
  EXPECT_EQ(output_of(spawner, command), "ONLY=this\n");
}

TEST(Spawner, AnIdleChildAndItsChildrenRunInTheIdleClass) {
  Spawner spawner;
  Command command = shell("chrt -p $$; sh -c 'chrt -p $$'");
  command.idle = true;
  const std::string out = output_of(spawner, command);
  EXPECT_EQ(out.find("SCHED_OTHER"), std::string::npos) << out;
  EXPECT_NE(out.find("SCHED_IDLE"), out.rfind("SCHED_IDLE")) << out;
}

TEST(Spawner, AChildThatDiesWithUsEndsWhenWeAreKilled) {
  auto pipe = base::make_pipe();
  ASSERT_TRUE(pipe);
  const pid_t gateway = ::fork();
  if (gateway == 0) {
    Spawner spawner;
    Command command = shell("echo up; exec sleep 600");
    command.fds = {{1, pipe->write.get()}};
    command.kill_with_parent = true;
    auto spawned = spawner.spawn(command);
    if (spawned) ::pause();
    ::_exit(1);
  }
  pipe->write.reset();
  char word[3];
  EXPECT_EQ(::read(pipe->read.get(), word, sizeof word), 3);
  ::kill(gateway, SIGKILL);
  ::waitpid(gateway, nullptr, 0);
  pollfd end{pipe->read.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&end, 1, 10'000), 1) << "the child survived the gateway";
  EXPECT_EQ(::read(pipe->read.get(), word, sizeof word), 0);
}

TEST(Spawner, AChildStartsWithDefaultSignalsAndAnEmptyMask) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  Spawner spawner;  // its thread inherits the mask
  const std::string out = output_of(spawner, shell("grep SigBlk /proc/self/status"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(out, "SigBlk:\t0000000000000000\n");
}

TEST(Spawner, WithMountsOfItsOwnNobodyElseSeesThem) {
  Spawner spawner(Spawner::Options{.own_mounts = true});
  EXPECT_EQ(spawner.has_own_mounts(), ::geteuid() == 0);
  auto root = spawner.root();
  ASSERT_TRUE(root);
  if (!spawner.has_own_mounts()) GTEST_SKIP() << "this test needs root";
  char folder[] = "/tmp/millrace-mounts-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = folder;
  output_of(spawner, shell("mount -n -t tmpfs none " + path + " && touch " + path + "/seen"));
  EXPECT_NE(::access((path + "/seen").c_str(), F_OK), 0);
  EXPECT_EQ(::faccessat(root->get(), (path.substr(1) + "/seen").c_str(), F_OK, 0), 0);
  EXPECT_EQ(output_of(spawner, shell("ls " + path)), "seen\n") << "the next child must see the mount too";
  Spawner other;
  EXPECT_FALSE(other.has_own_mounts());
  EXPECT_EQ(output_of(other, shell("ls " + path)), "");
  output_of(spawner, shell("umount -n " + path));
  ::rmdir(folder);
}

TEST(Child, TheExitCodeAndTheSignalAreReported) {
  Spawner spawner;
  auto seven = Child::start(spawner, shell("exit 7"));
  auto killed = Child::start(spawner, shell("kill -TERM $$"));
  ASSERT_TRUE(seven && killed);
  EXPECT_EQ(seven->wait(milliseconds(5000)).value().code, 7);
  EXPECT_EQ(killed->wait(milliseconds(5000)).value().signal, SIGTERM);
  EXPECT_EQ(seven->wait(milliseconds(0)).value().code, 7) << "wait must return the exit again";
}

TEST(Child, ARunningChildHasNoExitAndItsOwnerKillsItsTree) {
  Spawner spawner;
  auto pipe = base::make_pipe();
  ASSERT_TRUE(pipe);
  Command command = shell("sh -c 'echo up; exec sleep 600' & wait");
  command.fds = {{1, pipe->write.get()}};
  {
    auto child = Child::start(spawner, command);
    ASSERT_TRUE(child);
    pipe->write.reset();
    char buffer[8];
    ASSERT_EQ(::read(pipe->read.get(), buffer, sizeof buffer), 3);
    EXPECT_FALSE(child->wait(milliseconds(0)));
  }
  char rest = 0;
  EXPECT_EQ(::read(pipe->read.get(), &rest, 1), 0) << "the grandchild must end and close the pipe";
}

TEST(Capture, OutputBeyondTheBoundIsDrainedAndDropped) {
  Spawner spawner;
  auto captured = capture(spawner, shell("head -c 3000000 /dev/zero; echo done >&2"),
                          {.wall = milliseconds(20'000), .output_bytes_max = 65'536});
  ASSERT_TRUE(captured);
  EXPECT_TRUE(captured->truncated);
  EXPECT_EQ(captured->out.size(), 65'536U);
  EXPECT_EQ(captured->err, "done\n");
  EXPECT_TRUE(captured->exit.ok());
}

TEST(Capture, AChildThatRunsTooLongIsKilled) {
  Spawner spawner;
  auto captured = capture(spawner, shell("echo early; exec sleep 600"), {.wall = milliseconds(300)});
  ASSERT_TRUE(captured);
  EXPECT_TRUE(captured->timed_out);
  EXPECT_EQ(captured->exit.signal, SIGKILL);
  EXPECT_EQ(captured->out, "early\n");
}

TEST(Capture, AChildIsKilledOnceAStopIsReadable) {
  Spawner spawner;
  auto stop = base::make_pipe();
  ASSERT_TRUE(stop);
  ASSERT_EQ(::write(stop->write.get(), "x", 1), 1);
  auto captured =
      capture(spawner, shell("exec sleep 600"), {.wall = milliseconds(60'000)}, {stop->read.get()});
  ASSERT_TRUE(captured);
  EXPECT_TRUE(captured->stopped);
  EXPECT_EQ(captured->exit.signal, SIGKILL);
}

TEST(Capture, AStrayGrandchildThatHoldsThePipeDoesNotHoldTheCaller) {
  Spawner spawner;
  const auto start = std::chrono::steady_clock::now();
  auto captured = capture(spawner, shell("setsid sleep 20 & echo out"), {});
  ASSERT_TRUE(captured);
  EXPECT_EQ(captured->out, "out\n");
  EXPECT_TRUE(captured->exit.ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(8000));
}

}  // namespace
}  // namespace millrace::process
