#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "schemas/machines/artifact.h"
#include "tests/unit/machines/sandbox_fixture.h"

// Files that a command leaves in $MILLRACE_ARTIFACTS.
namespace millrace::machines {
namespace {

using How = CommandResult::How;

std::string content(const ArtifactFile& file) {
  std::string bytes(static_cast<std::size_t>(file.bytes), '\0');
  const ssize_t count = ::read(file.content.get(), bytes.data(), bytes.size());
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

std::string names(const CommandResult& end) {
  std::string all;
  for (const ArtifactFile& file : end.artifacts) all += file.name + " ";
  return all;
}

TEST_F(SandboxTest, ArtifactsAreTheFilesWithTheirFolders) {
  const Ran ran =
      run(shell("cd $MILLRACE_ARTIFACTS; mkdir -p a/b; printf one > top; printf two2 > a/b/deep; "
                "printf '' > a/empty"));
  ASSERT_EQ(ran.end.how, How::kExited) << ran.end.message;
  ASSERT_EQ(names(ran.end), "a/b/deep a/empty top ");
  EXPECT_EQ(content(ran.end.artifacts[0]), "two2");
  EXPECT_EQ(ran.end.artifacts[1].bytes, 0);
  EXPECT_EQ(content(ran.end.artifacts[2]), "one");
  EXPECT_EQ(ran.end.artifacts_note, "");
}

TEST_F(SandboxTest, ArtifactsAreTakenHoweverTheCommandEnds) {
  EXPECT_EQ(names(run(shell("echo x > /artifacts/x; exit 3")).end), "x ");
  EXPECT_EQ(names(run(shell("echo x > /artifacts/x; kill -9 $$")).end), "x ");
  CommandRequest order = shell("echo x > /artifacts/x; exec sleep 600");
  order.timeout = std::chrono::milliseconds(300);
  const Ran late = run(order);
  EXPECT_EQ(late.end.how, How::kTimedOut);
  EXPECT_EQ(names(late.end), "x ");
}

TEST_F(SandboxTest, EachExecutionHasAFreshFolderOfArtifactsAndItGoes) {
  output_of(
      "echo x > /artifacts/x; mkdir -p /artifacts/a/b/c; touch /artifacts/a/b/c/d; chmod 000 /artifacts/a/b");
  EXPECT_EQ(output_of("ls -A /artifacts"), "");
  output_of("chmod 000 /artifacts");
  EXPECT_TRUE(std::filesystem::is_empty(machine_folder() + "/artifacts"));
}

TEST_F(SandboxTest, WhatIsNoPlainFileIsLeftOutAndReported) {
  const Ran ran =
      run(order_of({"python3", "-c",
                    "import os, socket\n"
                    "os.chdir('/artifacts')\n"
                    "os.symlink('/etc/passwd', 'link'); os.symlink('/', 'root'); os.symlink('..', 'up')\n"
                    "open('twice', 'w').close(); os.link('twice', 'again')\n"
                    "os.mkfifo('fifo'); socket.socket(socket.AF_UNIX).bind('socket')\n"
                    "open(b'\\xff', 'w').close()\n"
                    "open('good', 'w').write('good')\n"}));
  EXPECT_EQ(names(ran.end), "good ") << ran.err;
  EXPECT_EQ(ran.end.artifacts_note,
            "3 symbolic link(s), 2 file(s) with more than one name (hard links), 2 FIFO(s), socket(s) or "
            "device(s), 1 entries whose path is not UTF-8 or is longer than 1024 bytes were left out");
}

TEST_F(SandboxTest, NoDeviceIsMadeAmongTheArtifacts) {
  const Ran ran = run(shell("mknod /artifacts/disk b 8 0 2>/dev/null || echo refused"));
  EXPECT_EQ(ran.out, "refused\n");
  EXPECT_EQ(names(ran.end), "");
}

TEST_F(SandboxTest, AHardLinkToAFileOfTheWorkspaceIsNoArtifact) {
  const Ran ran =
      run(shell("echo x > /workspace/x; ln /workspace/x /artifacts/x 2>/dev/null || echo refused"));
  EXPECT_EQ(names(ran.end), "");
}

TEST_F(SandboxTest, MoreFilesThanAllowedAreReported) {
  const Ran ran = run(shell("cd /artifacts; for i in $(seq 1 107); do echo $i > $i; done"));
  EXPECT_EQ(ran.end.artifacts.size(), static_cast<std::size_t>(schemas::kArtifactsMax));
  EXPECT_EQ(ran.end.artifacts_note, "7 file(s) past the first 100 were left out");
}

TEST_F(SandboxTest, AFileThatIsTooLargeIsLeftOut) {
  const Ran ran = run(shell("truncate -s 104857600 /artifacts/fits; truncate -s 104857601 /artifacts/above"));
  EXPECT_EQ(names(ran.end), "fits ");
  EXPECT_EQ(ran.end.artifacts_note, "1 file(s) above 100 MiB were left out");
}

TEST_F(SandboxTest, AFolderThatIsNestedWithoutEndIsNoTrap) {
  const Ran ran = run(order_of({"python3", "-c",
                                "import os\n"
                                "os.chdir('/artifacts')\n"
                                "for i in range(3000):\n"
                                "  os.mkdir('d'); os.chdir('d')\n"
                                "open('x', 'w').close()\n"}));
  ASSERT_EQ(ran.end.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.end.artifacts_note, "1 folder(s) nested deeper than 16 were left out");
  EXPECT_TRUE(std::filesystem::is_empty(machine_folder() + "/artifacts"));
}

TEST_F(SandboxTest, ArtifactsThatAKilledGatewayLeftGoWhenTheMachineIsOpened) {
  output_of("true");
  const CommandRequest order = shell("true");
  std::filesystem::create_directories(machine_folder() + "/artifacts/exec-left/a");
  ASSERT_TRUE(sandbox_->stop(order.machine, {}));
  ASSERT_TRUE(sandbox_->start(order.machine, {}));
  EXPECT_TRUE(std::filesystem::is_empty(machine_folder() + "/artifacts"));
}

TEST_F(SandboxTest, ACommandWhoseStartIsDeniedHasNotRun) {
  CommandHooks hooks;
  int asked = 0;
  hooks.start_allowed = [&] { return ++asked > 1; };
  CommandRequest order = shell("echo x > /workspace/x; echo x > /artifacts/x");
  const CommandResult refused = sandbox_->run(order, CancelToken(), hooks);
  EXPECT_EQ(refused.how, How::kNotStarted);
  EXPECT_TRUE(refused.artifacts.empty());
  EXPECT_EQ(output_of("ls /workspace"), "");
  EXPECT_EQ(sandbox_->run(order, CancelToken(), hooks).how, How::kExited);
  EXPECT_EQ(asked, 2) << "called once per run";
}

}  // namespace
}  // namespace millrace::machines
