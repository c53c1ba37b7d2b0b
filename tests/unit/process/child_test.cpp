#include "platform/process/child.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::process {
namespace {

using std::chrono::milliseconds;

Command sleeping() {
  return {.argv = {"/usr/bin/sleep", "600"}, .environment = {"PATH=/usr/bin:/bin"}, .fds = {}, .idle = false};
}

TEST(Child, EndKillsAndReapsIt) {
  Spawner spawner;
  auto child = Child::start(spawner, sleeping());
  ASSERT_TRUE(child);
  const pid_t pid = child->pid();
  EXPECT_TRUE(child->end(std::chrono::minutes(1)));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1) << "the child must be reaped";
  EXPECT_TRUE(child->end(milliseconds(0))) << "a second call of end does nothing";
}

struct TwoPipes {
  base::Pipe up = base::make_pipe().value(), down = base::make_pipe().value();
};

// Runs as a separate process, because on many hosts only ancestors may trace. It sends the pid of its child
// and ends the child on request. Exit code 0: the child survived and was abandoned.
[[noreturn]] void be_gateway(TwoPipes& pipes) {
  Spawner spawner;
  auto child = Child::start(spawner, sleeping());
  const pid_t pid = child ? child->pid() : -1;
  char word = 0;
  const bool told = ::write(pipes.up.write.get(), &pid, sizeof pid) == sizeof pid &&
                    ::read(pipes.down.read.get(), &word, 1) == 1;
  const bool ended = !told || !child || child->end(milliseconds(100));
  ::_exit(ended ? 1 : 0);
}

TEST(Child, OneThatDoesNotGoWhenItIsKilledIsNamedAndLeft) {
  TwoPipes pipes;
  ::testing::internal::CaptureStderr();
  const pid_t gateway = ::fork();
  if (gateway == 0) be_gateway(pipes);
  pid_t held = -1;
  EXPECT_EQ(::read(pipes.up.read.get(), &held, sizeof held), static_cast<ssize_t>(sizeof held));
  EXPECT_GT(held, 0);
  // A killed process is first reported to its tracer. This tracer does not wait for it, so the child stays.
  const bool traces = ::ptrace(PTRACE_SEIZE, held, nullptr, nullptr) == 0;
  EXPECT_EQ(::write(pipes.down.write.get(), "!", 1), 1);
  int code = -1;
  EXPECT_EQ(::waitpid(gateway, &code, 0), gateway);
  const std::string said = ::testing::internal::GetCapturedStderr();
  if (!traces) GTEST_SKIP() << "this host does not permit ptrace";
  EXPECT_EQ(::waitpid(held, nullptr, __WALL), held);
  EXPECT_EQ(code, 0) << said;
  EXPECT_NE(said.find("child_survived_sigkill"), std::string::npos) << said;
  EXPECT_NE(said.find("sleep"), std::string::npos) << said;
}

}  // namespace
}  // namespace millrace::process
