#include "platform/process/jail.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/process/child.h"
#include "tests/support/temp_dir.h"

namespace millrace::process {
namespace {

using std::chrono::milliseconds;

// Runs a shell script in a jail with this confinement. Skips the test if the host has no user namespaces.
class Jailed : public testing::TestWithParam<Confinement> {
 protected:
  void SetUp() override {
    const JailProbe probe = Jail::probe(spawner_, options_);
    ASSERT_TRUE(probe.usable) << probe.reason;
    if (GetParam() == Confinement::kNamespaces && probe.confinement != Confinement::kNamespaces) {
      GTEST_SKIP() << probe.reason << ": " << probe.advice;
    }
  }

  Captured run(const std::string& script) {
    auto jail = Jail::make(options_, GetParam());
    auto wrapped = jail->wrap({.argv = {"/bin/sh", "-c", script},
                               .environment = {"PATH=/usr/bin:/bin", "LANG=C"},
                               .fds = {},
                               .idle = true});
    auto captured = capture(spawner_, std::move(wrapped->command), {});
    return std::move(*captured);
  }

  Spawner spawner_;
  JailOptions options_;
};

TEST_P(Jailed, NothingRunsAsRoot) {
  const Captured result = run("id -u");
  EXPECT_TRUE(result.exit.ok()) << result.err;
  EXPECT_NE(result.out, "0\n");
}

TEST_P(Jailed, TheKernelsSettingsAreNotWritable) {
  const Captured result =
      run("cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern && echo written");
  EXPECT_EQ(result.out, "");
}

TEST_P(Jailed, NoPrivilegeIsGained) {
  EXPECT_EQ(run("grep -h NoNewPrivs /proc/self/status").out, "NoNewPrivs:\t1\n");
}

TEST_P(Jailed, FilesAndDescriptorsAreBounded) {
  options_.limits.file_bytes = 4096;
  EXPECT_EQ(run("ulimit -n; ulimit -c; prlimit --noheadings --output SOFT --fsize").out, "256\n0\n4096\n");
}

// The jail of an ordinary user has the uid of that user, who owns the program.
TEST_P(Jailed, AProgramOfItsOwnUserIsACopy) {
  constexpr uid_t kUser = 54'321;
  const support::TempDir folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
  const std::string program = folder.str() + "/shell";
  std::filesystem::copy_file("/bin/sh", program);
  if (::geteuid() == 0 && ::chown(program.c_str(), kUser, kUser) != 0) FAIL();
  const pid_t user = ::fork();
  if (user == 0) {
    if (::geteuid() == 0 && ::setresuid(kUser, kUser, kUser) != 0) ::_exit(2);
    Spawner spawner;
    auto jail = Jail::make(options_, GetParam());
    auto wrapped = jail->wrap({.argv = {program, "-c", "readlink /proc/self/exe /proc/$$/exe"},
                               .environment = {"PATH=/usr/bin:/bin"},
                               .fds = {},
                               .idle = false});
    const auto captured = capture(spawner, std::move(wrapped->command), {});
    ::_exit(captured->out.find("/memfd:program") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(user, &status, 0), user);
  EXPECT_EQ(status, 0);
}

std::string name_of(const testing::TestParamInfo<Confinement>& form) {
  switch (form.param) {
    case Confinement::kNamespaces:
      return "Namespaces";
    case Confinement::kFileRules:
      return "FileRules";
    case Confinement::kReduced:
      return "Reduced";
  }
  return "";
}
INSTANTIATE_TEST_SUITE_P(EachForm, Jailed,
                         testing::Values(Confinement::kNamespaces, Confinement::kFileRules,
                                         Confinement::kReduced),
                         name_of);

class Namespaced : public Jailed {};
INSTANTIATE_TEST_SUITE_P(Best, Namespaced, testing::Values(Confinement::kNamespaces));

TEST_P(Namespaced, TheHostsFilesAreNotThere) {
  EXPECT_EQ(run("ls -d /root /home /var/lib /etc/passwd /work 2>/dev/null").out, "");
}

TEST_P(Namespaced, OnlyThePrivateFolderIsWritable) {
  EXPECT_EQ(run("for d in / /usr /dev /dev/shm /etc /tmp; do touch $d/x 2>/dev/null && echo $d; done").out,
            "/tmp\n");
}

TEST_P(Namespaced, ThePrivateFolderIsBounded) {
  options_.limits.tmp_bytes = 1 << 20;
  const Captured result = run("head -c 3000000 /dev/zero > /tmp/x 2>/dev/null || stat -c %s /tmp/x");
  EXPECT_EQ(result.out, "1048576\n");
}

TEST_P(Namespaced, ThereIsNoNetworkAndNoSocketCanBeMade) {
  EXPECT_EQ(run("tail -n +3 /proc/net/dev | grep -vc lo:").out, "0\n");
  const Captured result =
      run("exec perl -e 'use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0) or print \"$!\"'");
  EXPECT_EQ(result.out, "Operation not permitted");
}

TEST_P(Namespaced, ForksAreBounded) {
  options_.limits.processes = 16;
  const Captured result =
      run("i=0; while [ $i -lt 64 ]; do sleep 60 & i=$((i+1)); done 2>/dev/null; echo $i");
  EXPECT_EQ(result.out, "") << "the 17th fork fails and the shell ends";
}

TEST_P(Namespaced, NoFurtherNamespaceCanBeEntered) { EXPECT_FALSE(run("unshare --user true").exit.ok()); }

TEST_P(Namespaced, AnIdleJailStaysInTheIdleClass) {
  EXPECT_EQ(run("cut -d' ' -f41 /proc/self/stat").out, "5\n");
}

TEST_P(Namespaced, KillingTheTreeTakesSessionsOfTheirOwnToo) {
  auto pipe = base::make_pipe();
  ASSERT_TRUE(pipe);
  auto jail = Jail::make(options_, GetParam());
  ASSERT_TRUE(jail);
  auto wrapped =
      jail->wrap({.argv = {"/bin/sh", "-c", "setsid sh -c 'trap \"\" TERM; echo up; sleep 600' & wait"},
                  .environment = {"PATH=/usr/bin:/bin"},
                  .fds = {{1, pipe->write.get()}},
                  .idle = false});
  ASSERT_TRUE(wrapped);
  auto child = Child::start(spawner_, wrapped->command);
  ASSERT_TRUE(child);
  pipe->write.reset();
  char buffer[8];
  ASSERT_EQ(::read(pipe->read.get(), buffer, sizeof buffer), 3);
  child->kill_tree();
  EXPECT_EQ(::read(pipe->read.get(), buffer, 1), 0) << "end of file: no process holds the pipe";
}

TEST(Jail, RefusesToRunAsRoot) {
  JailOptions options;
  options.uid = 0;
  EXPECT_FALSE(Jail::make(options, Confinement::kNamespaces));
}

TEST(Jail, AProgramThatIsNotThereIsAnError) {
  auto jail = Jail::make({}, Confinement::kNamespaces);
  ASSERT_TRUE(jail);
  EXPECT_FALSE(jail->wrap({.argv = {"/nonexistent"}, .environment = {}, .fds = {}, .idle = false}));
}

}  // namespace
}  // namespace millrace::process
