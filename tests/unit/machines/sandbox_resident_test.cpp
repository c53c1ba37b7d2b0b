#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/process/memory_file.h"
#include "tests/support/processes.h"
#include "tests/support/wait_until.h"
#include "tests/unit/machines/sandbox_fixture.h"

// Host programs that run in a machine's jail.
namespace millrace::machines {
namespace {

class ResidentTest : public SandboxTest {
 protected:
  // Starts a resident whose stdin, stdout and stderr are one socket.
  void start(Sandbox::ResidentRequest order) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    connection_.reset(ends[0]);
    const base::Fd theirs(ends[1]);
    order.input = order.output = order.errors = theirs.get();
    auto spawned = sandbox_->start_resident(order_of({}).machine, order, {});
    ASSERT_TRUE(spawned) << spawned.error().message;
    child_ = std::move(*spawned);
  }
  void start_script(const std::string& script, std::vector<std::string> hidden_programs = {}) {
    Sandbox::ResidentRequest order;
    order.argv = {"/bin/sh", "-c", script};
    order.hidden_programs = std::move(hidden_programs);
    start(std::move(order));
  }

  // Its output until it ends.
  std::string all() {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 1; count > 0;) {
      count = ::read(connection_.get(), buffer, sizeof buffer);
      if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }
  std::string line() {
    std::string text;
    char byte = 0;
    while (::read(connection_.get(), &byte, 1) == 1 && byte != '\n') text.push_back(byte);
    return text;
  }
  bool is_over() {
    siginfo_t info{};
    const auto id = static_cast<id_t>(child_.pidfd.get());
    return ::waitid(P_PIDFD, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }
  void TearDown() override {
    if (child_.pid <= 0) return;
    ::kill(-child_.pid, SIGKILL);
    ::waitpid(child_.pid, nullptr, 0);
  }

  base::Fd connection_;
  process::Spawned child_;
};

TEST_F(ResidentTest, AResidentIsUserThousandInTheMachinesJail) {
  output_of("echo mine > /workspace/file");
  start_script(
      "id -u; pwd; cat file; echo $HOME $MILLRACE_MACHINE_ID; grep NoNewPrivs /proc/self/status; ulimit -n");
  EXPECT_EQ(
      all(),
      "1000\n/workspace\nmine\n/workspace dm-01890000-0000-7000-8000-0000000000ab\nNoNewPrivs:\t1\n1024\n");
}

TEST_F(ResidentTest, FilesOfTheOrderAreSeenWhereItSays) {
  auto file = process::memory_file("another:x:1000:1000::/workspace:/bin/bash\n");
  ASSERT_TRUE(file);
  for (int i = 0; i < 2; ++i) {  // each resident reads the file from its beginning
    Sandbox::ResidentRequest order;
    order.argv = {"/bin/sh", "-c", "id -un; (echo x >> /etc/passwd) 2>/dev/null || echo kept"};
    order.read_only = {{file->get(), "/etc/passwd"}};
    start(std::move(order));
    EXPECT_EQ(all(), "another\nkept\n");
    TearDown();
  }
}

TEST_F(ResidentTest, TerminalsWork) {
  start_script("script -qec 'tty && stty size' /dev/null < /dev/null");
  EXPECT_EQ(line().substr(0, 9), "/dev/pts/");
}

TEST_F(ResidentTest, StoppingTheMachineEndsItsResidents) {
  start_script("echo up; exec sleep 600");
  ASSERT_EQ(line(), "up");
  EXPECT_TRUE(sandbox_->stop(order_of({}).machine, {}));
  EXPECT_TRUE(is_over());
  EXPECT_EQ(all(), "") << "its child processes must end too";
}

TEST_F(ResidentTest, WhoeverOwnsTheChildEndsWhatItStarted) {
  start_script("(setsid sh -c 'trap \"\" TERM HUP; echo up; exec sleep 7398.25' &); exec sleep 600");
  ASSERT_EQ(line(), "up");
  ::kill(-child_.pid, SIGKILL);
  EXPECT_TRUE(support::wait_until([] { return support::processes_with("7398.25") == 0; }));
}

TEST_F(ResidentTest, AResidentCountsAgainstTheMachinesMemory) {
  if (sandbox_->host_facts().limits == "rlimits") GTEST_SKIP() << "this host has no control groups";
  output_of("true");  // creates the group of this machine
  start_script("cat /proc/self/cgroup");
  EXPECT_NE(all().find(schemas::machine_id(machine_)), std::string::npos);
}

TEST_F(ResidentTest, TheDisksLockIsHeldToTheEndOfTheJailAndNotByTheProgram) {
  if (sandbox_->host_facts().disk != "image") GTEST_SKIP() << "no image can be mounted here";
  const std::string file =
      data_.str() + "/machines/" + schemas::machine_id(order_of({}).machine.id) + "/disk.lock";
  start_script("ls -l /proc/self/fd | grep -c disk.lock; exec 0<&- 1>&- 2>&-; exec sleep 600");
  EXPECT_EQ(line(), "0");
  sandbox_.reset();  // its copy of the lock is closed with it
  const base::Fd lock(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(lock);
  EXPECT_NE(::flock(lock.get(), LOCK_EX | LOCK_NB), 0) << "the jail is running";
  ::kill(-child_.pid, SIGKILL);
  EXPECT_TRUE(support::wait_until([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0; }));
}

// Their uid alone would permit it.
TEST_F(ResidentTest, TheFirstProcessAndHiddenProgramsCannotBeInspected) {
  start_script(
      "sleep 600 & hidden=$!; until [ $(cat /proc/$hidden/comm) = sleep ]; do :; done; "
      "cat /usr/bin/sleep 2>/dev/null || echo unreadable; "
      "for process in 1 $hidden; do for entry in mem maps environ exe; do "
      "(: < /proc/$process/$entry) 2>/dev/null && echo $process $entry is open; done; "
      "(: <> /proc/$process/mem) 2>/dev/null && echo $process is written; "
      "ls /proc/$process/fd 2>/dev/null; done; (: < /proc/$$/mem) && echo its own is not closed; kill "
      "$hidden",
      {"/usr/bin/sleep"});
  EXPECT_EQ(all(), "unreadable\nits own is not closed\n");
}

TEST_F(ResidentTest, TheProgramHasThreeDescriptors) {
  start_script("ls /proc/$$/fd; true");
  EXPECT_EQ(all(), "0\n1\n2\n");
}

TEST_F(ResidentTest, TheExitCodeIsThePrograms) {
  start_script("exit 7");
  EXPECT_EQ(all(), "");
  siginfo_t info{};
  EXPECT_EQ(::waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(info.si_status, 7);
}

TEST_F(ResidentTest, AProgramThatIsNotThereSaysSo) {
  Sandbox::ResidentRequest order;
  order.argv = {"/nowhere/sshd", "-i"};
  start(std::move(order));
  EXPECT_NE(all().find("/nowhere/sshd: No such file or directory"), std::string::npos);
}

}  // namespace
}  // namespace millrace::machines
