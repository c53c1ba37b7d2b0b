#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machines/sandbox/machine_disk.h"
#include "platform/process/child.h"
#include "tests/unit/machines/running.h"

// Disks of machines, and the operations on machines.
namespace millrace::machines {
namespace {

namespace fs = std::filesystem;
using How = CommandResult::How;

class SandboxImageTest : public SandboxTest {
 protected:
  void SetUp() override {
    SandboxTest::SetUp();
    if (sandbox_ && sandbox_->host_facts().disk != "image") GTEST_SKIP() << "no image can be mounted here";
  }
  // The machine's folder on the host.
  std::string own() const { return data_.str() + "/machines/" + schemas::machine_id(machine_); }
};

TEST_F(SandboxImageTest, TheDiskIsOfTheMachinesSizeAndSeenByItAlone) {
  const std::string out =
      output_of("echo x > /workspace/file; df --output=size -BM /workspace | tail -1 | tr -dc 0-9");
  EXPECT_GT(std::stoi(out), 900);
  EXPECT_LE(std::stoi(out), 1024);
  EXPECT_TRUE(fs::exists(workspace() + "/file"));
  EXPECT_TRUE(fs::is_empty(own() + "/disk")) << "the disk must not be mounted on the host";
  struct stat image {};
  ASSERT_EQ(::stat((own() + "/disk.img").c_str(), &image), 0);
  EXPECT_EQ(image.st_mode & 07777, 0600U);
  EXPECT_EQ(image.st_uid, 0U);
  EXPECT_LT(image.st_blocks * 512, 100 << 20) << "the image is sparse";
}

TEST_F(SandboxImageTest, AFullDiskIsTheCommandsOwnAffair) {
  const Ran ran = run(shell("cd /workspace; for i in 1 2 3 4; do fallocate -l 400M $i || exit 9; done"));
  EXPECT_EQ(ran.end.exit_code, 9);
  EXPECT_NE(ran.err.find("No space left"), std::string::npos) << ran.err;
  output_of("rm /workspace/*");
}

TEST_F(SandboxImageTest, TheDiskOutlivesItsMachinesSleepAndAnotherProcess) {
  output_of("echo kept > /workspace/file");
  ASSERT_TRUE(sandbox_->stop(order_of({}).machine, {}));
  EXPECT_FALSE(fs::exists(workspace() + "/file")) << "the disk must not be mounted";
  EXPECT_EQ(output_of("cat /workspace/file"), "kept\n");
  sandbox_.reset();
  auto opened = Sandbox::open(options(), spawner_);
  ASSERT_TRUE(opened);
  sandbox_ = std::move(*opened);
  EXPECT_EQ(output_of("cat /workspace/file"), "kept\n");
}

TEST_F(SandboxImageTest, AGrownDiskIsLargerFromTheNextStartOn) {
  output_of("echo kept > /workspace/file");
  schemas::Machine machine = order_of({}).machine;
  ASSERT_TRUE(sandbox_->stop(machine, {}));
  machine.storage_gib = 2;
  ASSERT_TRUE(sandbox_->start(machine, {}));
  EXPECT_EQ(output_of("cat /workspace/file"), "kept\n");
  EXPECT_GT(std::stoi(output_of("df --output=size -BM /workspace | tail -1 | tr -dc 0-9")), 1900);
}

TEST_F(SandboxImageTest, TwoWorkersNeverMountOneDisk) {
  output_of("true");
  process::Spawner spawner(process::Spawner::Options{.own_mounts = true});
  auto other = Sandbox::open(options(), spawner);
  ASSERT_TRUE(other);
  const CommandResult end = (*other)->run(shell("true"), CancelToken(), {});
  EXPECT_EQ(end.how, How::kNotRoutable);
  EXPECT_EQ(end.message, "another worker uses this machine's disk");
  ASSERT_TRUE(sandbox_->stop(order_of({}).machine, {}));
  EXPECT_EQ((*other)->run(shell("true"), CancelToken(), {}).how, How::kExited)
      << "the first sandbox released the disk";
}

TEST_F(SandboxImageTest, ADiskThatAnotherWorkerHasIsNotRemoved) {
  output_of("echo kept > /workspace/file");
  process::Spawner spawner(process::Spawner::Options{.own_mounts = true});
  auto other = Sandbox::open(options(), spawner);
  ASSERT_TRUE(other);
  const base::Status refused = (*other)->destroy(order_of({}).machine, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::kOverloaded) << "the operation is postponed";
  EXPECT_EQ(output_of("cat /workspace/file"), "kept\n");
  EXPECT_TRUE(sandbox_->destroy(order_of({}).machine, {}));
}

TEST_F(SandboxImageTest, AGrowthThatWasBrokenOffIsTakenUp) {
  schemas::Machine machine = order_of({}).machine;
  output_of("echo kept > /workspace/file");
  ASSERT_TRUE(sandbox_->stop(machine, {}));
  machine.storage_gib = 2;
  CancelToken cancelled;
  cancelled.kill();
  EXPECT_FALSE(sandbox_->start(machine, cancelled));
  EXPECT_EQ(fs::file_size(own() + "/disk.img"), std::uintmax_t{2} << 30) << "only the file was enlarged";
  ASSERT_TRUE(sandbox_->start(machine, {}));
  EXPECT_EQ(output_of("cat /workspace/file"), "kept\n");
  EXPECT_GT(std::stoi(output_of("df --output=size -BM /workspace | tail -1 | tr -dc 0-9")), 1900);
}

TEST_F(SandboxTest, WhatAKilledTrialLeftIsSweptAndARunningOneIsNot) {
  const auto running = ProbeFolder::make(root_.get(), data_.str(), ::geteuid());
  ASSERT_TRUE(running);
  const fs::path left = data_.path() / "machines/trial-01890000-0000-7000-8000-0000000000ff";
  fs::create_directories(left / "disk");
  auto opened = Sandbox::open(options(), spawner_);
  ASSERT_TRUE(opened);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(running->path()));
}

TEST_F(SandboxTest, TheReasonOfAFailedStartIsReturnedToTheRunnerAndNotLoggedHere) {
  std::ofstream(data_.str() + "/machines/" + schemas::machine_id(machine_)) << "no folder\n";
  ::testing::internal::CaptureStderr();
  const auto facts = sandbox_->start(order_of({}).machine, {});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message.find('/'), std::string::npos) << facts.error().message;
  EXPECT_NE(facts.error().details.find(data_.str()), std::string::npos) << facts.error().details;
}

TEST_F(SandboxImageTest, AWorkspaceWithFilesStaysAFolder) {
  fs::create_directories(own() + "/workspace");
  std::ofstream(own() + "/workspace/old") << "old\n";
  const auto facts = sandbox_->start(order_of({}).machine, {});
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->disk, "watched");
  EXPECT_EQ(output_of("cat /workspace/old"), "old\n");
}

// Runs a script in a separate gateway process. If `killed`, the first output of the script kills the gateway
// with SIGKILL.
std::string output_by_gateway(const std::string& data, const std::string& script, bool killed) {
  process::Spawner spawner(process::Spawner::Options{.own_mounts = true});
  auto sandbox = Sandbox::open({.data_dir = data}, spawner);
  if (!sandbox || (*sandbox)->host_facts().disk != "image") return "no image can be mounted here";
  CommandRequest order;
  order.machine.id = *base::Uuid::parse("01890000-0000-7000-8000-0000000000ab");
  order.machine.storage_gib = 1;
  order.command = {"sh", "-c", script};
  std::string out;
  CommandHooks hooks;
  hooks.output = [&](auto, std::string_view bytes) {
    if (killed) ::kill(::getpid(), SIGKILL);
    out.append(bytes);
  };
  (*sandbox)->run(order, CancelToken(), hooks);
  return out;
}

// Forks before this process has other threads.
TEST(SandboxImage, AKilledGatewayLeavesADiskThatTheNextOneMounts) {
  const support::TempDir data;
  ::chmod(data.str().c_str(), 0711);
  const pid_t gateway = ::fork();
  if (gateway == 0) {
    output_by_gateway(data.str(), "echo kept > file; sync; echo up; exec sleep 600", true);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(gateway, &status, 0);
  if (!WIFSIGNALED(status)) GTEST_SKIP() << "no image can be mounted here";
  EXPECT_EQ(output_by_gateway(data.str(), "cat file", false), "kept\n");
}

TEST_F(SandboxTest, DestroyLeavesNothingOfTheMachine) {
  output_of("mkdir -p a/b; touch a/b/c; chmod 000 a/b");
  const schemas::Machine machine = order_of({}).machine;
  EXPECT_TRUE(sandbox_->destroy(machine, {}));
  EXPECT_TRUE(fs::is_empty(data_.path() / "machines"));
  EXPECT_TRUE(sandbox_->destroy(machine, {})) << "destroy is idempotent";
}

TEST_F(PlainSandboxTest, DestroyLeavesNothingOfAFolderEither) {
  output_of("mkdir -p a/b; touch a/b/c; chmod 000 a/b");
  EXPECT_TRUE(sandbox_->destroy(order_of({}).machine, {}));
  EXPECT_TRUE(fs::is_empty(data_.path() / "machines"));
}

TEST_F(SandboxTest, StopEndsWhatRunsAndSaysSo) {
  Running running(*sandbox_, shell("trap '' TERM; echo up; exec sleep 600"));
  ASSERT_TRUE(running.says("up"));
  EXPECT_TRUE(sandbox_->stop(order_of({}).machine, {}));
  const CommandResult end = running.end();
  EXPECT_EQ(end.how, How::kHostFailed);
  EXPECT_EQ(end.message, "the machine was stopped while the command ran");
  EXPECT_EQ(output_of("echo again"), "again\n");
}

TEST_F(PlainSandboxTest, ACommandThatFillsAWatchedDiskIsStopped) {
  const auto facts = sandbox_->start(order_of({}).machine, {});
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->disk, "watched");
  const Ran ran = run(shell("fallocate -l 600M a; fallocate -l 600M b; exec sleep 600"));
  EXPECT_EQ(ran.end.how, How::kSignalled);
  EXPECT_EQ(ran.end.signal, SIGKILL);
  ASSERT_TRUE(ran.end.limit);
  EXPECT_EQ(ran.end.limit->code, base::Code::kOutOfDisk);
  EXPECT_EQ(ran.end.limit->message, "the machine's disk is full: storage_gib (1) is used up");
}

class ReadOnlyDiskTest : public SandboxImageTest {
 protected:
  // As the kernel does after a write to the image has failed.
  void make_read_only() {
    process::Command command;
    command.argv = {"/usr/bin/mount", "-n", "-o", "remount,ro", own() + "/disk"};
    const auto done = process::capture(spawner_, std::move(command), {});
    ASSERT_TRUE(done && done->exit.ok()) << (done ? done->err : done.error().message);
  }
  Sandbox::Options options() const override {
    Sandbox::Options options = SandboxImageTest::options();
    options.on_disk = [this](const base::Uuid&, bool is_writable) { reports_ += is_writable ? 'w' : 'r'; };
    return options;
  }
  mutable std::string reports_;  // "r": read-only, "w": whole again
};

TEST_F(ReadOnlyDiskTest, IsReportedAndSoIsItsRepair) {
  output_of("echo kept > file");
  EXPECT_EQ(reports_, "w");
  make_read_only();
  EXPECT_EQ(run(shell("echo x > file")).end.exit_code, 0);
  EXPECT_EQ(reports_, "wrw") << "nothing else ran: it was repaired for this command";
  Running other(*sandbox_, shell("echo up; exec sleep 600"));
  ASSERT_TRUE(other.says("up"));
  make_read_only();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run(shell("true")).end.how, How::kNotRoutable);
  EXPECT_EQ(reports_, "wrwr");
  other.stop.kill();
  other.end();
  output_of("echo x > file");
  EXPECT_EQ(reports_, "wrwrw");
}

TEST_F(ReadOnlyDiskTest, ThatTurnsReadOnlyUnderACommandIsReportedAtItsEnd) {
  Running command(*sandbox_, shell("echo up; exec sleep 600"));
  ASSERT_TRUE(command.says("up"));
  make_read_only();
  command.stop.stop();
  command.end();
  EXPECT_EQ(reports_, "wr");
}

TEST_F(ReadOnlyDiskTest, IsRepairedForTheNextCommand) {
  output_of("echo kept > file");
  make_read_only();
  EXPECT_EQ(output_of("cat file; echo more >> file; cat file"), "kept\nkept\nmore\n");
  make_read_only();
  ASSERT_TRUE(sandbox_->start(order_of({}).machine, {}));
  EXPECT_EQ(output_of("echo again > file; cat file"), "again\n");
}

TEST_F(ReadOnlyDiskTest, IsRepairedOnceItsCommandsHaveEnded) {
  Running other(*sandbox_, shell("echo up; exec sleep 600"));
  ASSERT_TRUE(other.says("up"));
  make_read_only();
  for (int i = 0; i < 2; ++i) {
    const Ran refused = run(shell("echo x > file"));
    EXPECT_EQ(refused.end.how, How::kNotRoutable);
    EXPECT_THAT(refused.end.message, testing::HasSubstr("read-only"));
  }
  other.stop.kill();
  other.end();
  EXPECT_EQ(output_of("echo x > file; cat file"), "x\n");
}

TEST_F(SandboxImageTest, ACommandThatFillsItsDiskSaysSo) {
  const Ran fills = run(shell("echo x > a; for i in 1 2; do head -c 600M /dev/zero > $i || exit 3; done"));
  EXPECT_EQ(fills.end.exit_code, 3) << fills.end.message;
  ASSERT_TRUE(fills.end.limit);
  EXPECT_EQ(fills.end.limit->code, base::Code::kOutOfDisk);
  const Ran other = run(shell("exit 4"));
  EXPECT_FALSE(other.end.limit) << "it was full before";
  ASSERT_EQ(other.end.warnings.size(), 1U);
  EXPECT_THAT(other.end.warnings[0], testing::HasSubstr("storage_gib (1)"));
  EXPECT_TRUE(run(shell("rm 1 2")).end.warnings.empty());
}

}  // namespace
}  // namespace millrace::machines
