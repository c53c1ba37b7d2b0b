#include <filesystem>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machines/remote/ssh_driver.h"
#include "tests/contract/driver_contract.h"
#include "tests/support/processes.h"
#include "tests/support/wait_until.h"

// Behaviour of driver ssh beyond the contract.
namespace millrace::machines {
namespace {

namespace fs = std::filesystem;
using How = CommandResult::How;

class SshDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = support::Sshd::missing(); !reason.empty()) GTEST_SKIP() << reason;
    host_ = std::make_unique<SshHost>();
  }
  CommandResult end_of(const CommandRequest& request) { return run_order(*host_, request).end; }
  CommandRequest request() const { return order_for(*host_, {"true"}); }
  // The folders of running commands, from all processes that run commands.
  std::vector<fs::path> key_folders() const {
    std::vector<fs::path> found;
    for (const auto& of_process : fs::directory_iterator(host_->data_dir() + "/ssh")) {
      for (const auto& of_command : fs::directory_iterator(of_process)) found.push_back(of_command);
    }
    return found;
  }
  bool keys_are_gone() const { return key_folders().empty(); }

  std::unique_ptr<SshHost> host_;
};

TEST_F(SshDriverTest, WithoutAFolderItRunsInTheUsersHome) {
  CommandRequest there = order_for(*host_, {"sh", "-c", "cd; pwd"});
  CommandRequest here = order_for(*host_, {"pwd"});
  here.cwd.clear();
  EXPECT_EQ(run_order(*host_, here).out, run_order(*host_, there).out);
}

TEST_F(SshDriverTest, AHostWithACertificateOfOurHostAuthorityIsTrusted) {
  HostCertificate certificate;
  const auto key = public_key_from(host_->sshd().host_key());
  ASSERT_TRUE(key) << key.error().message;
  certificate.key = *key;
  certificate.serial = 1;
  certificate.key_id = "host";
  certificate.names = {"127.0.0.1"};
  certificate.valid_from = base::SystemClock().wall() - std::chrono::minutes(5);
  certificate.valid_until = certificate.valid_from + std::chrono::hours(1);
  CommandRequest asked = request();
  asked.machine.settings.ssh->host_key.clear();
  EXPECT_EQ(end_of(asked).how, How::kNotRoutable) << "sshd has no host certificate yet";
  host_->sshd().restart_with_certificate(host_->authority().sign(certificate));
  asked.machine.settings.ssh->port = host_->sshd().port();
  const CommandResult end = end_of(asked);
  EXPECT_EQ(end.how, How::kExited) << end.message;
}

TEST_F(SshDriverTest, AnotherHostKeyIsRefusedAndNothingRuns) {
  CommandRequest asked = order_for(*host_, {"touch", "begun"});
  asked.machine.settings.ssh->host_key = make_key_pair().public_key.line();
  const CommandResult end = end_of(asked);
  EXPECT_EQ(end.how, How::kNotRoutable);
  EXPECT_NE(end.message.find("host key"), std::string::npos) << end.message;
  EXPECT_EQ(end.message.find(host_->data_dir()), std::string::npos);
  EXPECT_TRUE(fs::is_empty(host_->folder()));
  EXPECT_TRUE(keys_are_gone());
}

TEST_F(SshDriverTest, AHostThatTrustsAnotherAuthorityIsNotRoutable) {
  const support::TempDir other;
  process::Spawner spawner;
  const auto authority = SshAuthority::open(other.str());
  ASSERT_TRUE(authority) << authority.error().message;
  const auto driver = SshDriver::open({.data_dir = other.str()}, spawner, *authority);
  ASSERT_TRUE(driver) << driver.error().message;
  const auto started = (*driver)->start(host_->machine(), {});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, base::Code::kMachineNotRoutable);
  EXPECT_NE(started.error().message.find("TrustedUserCAKeys"), std::string::npos) << started.error().message;
  EXPECT_NE(started.error().details.find("Permission denied"), std::string::npos)
      << "sshd's output is missing";
}

TEST_F(SshDriverTest, ACertificateForOneMachineLogsInAtNoOtherThatTrustsTheSameAuthorityAndUser) {
  CommandRequest asked = order_for(*host_, {"touch", "begun"});
  asked.machine.id = *base::Uuid::parse("01890000-0000-7000-8000-0000000000ac");
  const CommandResult end = end_of(asked);
  EXPECT_EQ(end.how, How::kNotRoutable);
  EXPECT_NE(end.message.find("AuthorizedPrincipalsFile"), std::string::npos) << end.message;
  EXPECT_NE(end.detail.find("Permission denied"), std::string::npos) << end.detail;
  EXPECT_TRUE(fs::is_empty(host_->folder()));
  EXPECT_EQ(end_of(request()).how, How::kExited) << "the host's own machine";
}

TEST_F(SshDriverTest, AHostThatDoesNotAnswerIsGivenUp) {
  support::TempDir other;
  process::Spawner spawner;
  const auto authority = SshAuthority::open(other.str());
  ASSERT_TRUE(authority) << authority.error().message;
  const auto driver = SshDriver::open(
      {.data_dir = other.str(), .connect_timeout = std::chrono::milliseconds(1'000)}, spawner, *authority);
  ASSERT_TRUE(driver) << driver.error().message;
  const base::Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(silent.get(), 1), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  schemas::Machine machine = host_->machine();
  machine.settings.ssh->port = ntohs(address.sin_port);
  const auto started = (*driver)->start(machine, {});
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("in time"), std::string::npos) << started.error().message;
}

TEST_F(SshDriverTest, AHostThatRefusesConnectionsIsNotRoutable) {
  const CommandRequest asked = request();
  host_->sshd().kill_all();
  const CommandResult end = end_of(asked);
  EXPECT_EQ(end.how, How::kNotRoutable);
  EXPECT_NE(end.message.find("refused the connection"), std::string::npos) << end.message;
  const auto started = host_->driver().start(asked.machine, {});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, base::Code::kMachineNotRoutable);
  EXPECT_EQ(started.error().message, end.message);
}

TEST_F(SshDriverTest, AHostWithoutPerlIsReported) {
  host_->sshd().restart_with("SetEnv PATH=/nowhere\n");
  const CommandResult end = end_of(request());
  EXPECT_EQ(end.how, How::kNotRoutable);
  EXPECT_NE(end.message.find("Perl"), std::string::npos) << end.message;
}

TEST_F(SshDriverTest, AConnectionThatBreaksIsTheHostsFailureAndEndsTheCommandThere) {
  const std::string mark = "7421." + std::to_string(::getpid()) + "1";
  RunningCommand running(*host_, shell_order(*host_, "echo up; setsid sleep " + mark));
  ASSERT_TRUE(running.says("up"));
  host_->sshd().kill_all();
  const CommandResult end = running.end();
  EXPECT_EQ(end.how, How::kHostFailed);
  EXPECT_EQ(end.message, "the connection to the machine broke");
  EXPECT_TRUE(support::wait_until([&] { return support::processes_with(mark) == 0; }));
  EXPECT_TRUE(keys_are_gone());
}

TEST_F(SshDriverTest, KeysLieInAFolderOfTheirCommandWhileItRuns) {
  const CommandRequest asked = shell_order(*host_, "echo up; sleep 600");
  RunningCommand running(*host_, asked);
  ASSERT_TRUE(running.says("up"));
  ASSERT_EQ(key_folders().size(), 1u);
  const fs::path folder = key_folders().front();
  EXPECT_EQ(folder.filename(), asked.execution);
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder.parent_path()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(folder / "id").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  running.stop.kill();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_TRUE(keys_are_gone());
}

TEST_F(SshDriverTest, WhatACrashLeftIsRemovedWhenItOpens) {
  fs::create_directories(host_->data_dir() + "/ssh/of-before/exec-of-before");
  fs::create_symlink(host_->data_dir() + "/ca", host_->data_dir() + "/ssh/link");
  host_->open();
  EXPECT_TRUE(keys_are_gone());
  const fs::directory_iterator left(host_->data_dir() + "/ssh");
  EXPECT_EQ(std::distance(left, fs::directory_iterator()), 1) << "only this process's folder remains";
  EXPECT_TRUE(fs::exists(host_->data_dir() + "/ca/user_ca"));
}

TEST_F(SshDriverTest, AnotherWorkerThatOpensLeavesTheKeysInUse) {
  RunningCommand running(*host_, shell_order(*host_, "echo up; sleep 600"));
  ASSERT_TRUE(running.says("up"));
  {
    const auto second = host_->open_another();
    ASSERT_TRUE(second) << second.error().message;
    ASSERT_EQ(key_folders().size(), 1u);
    EXPECT_TRUE(fs::exists(key_folders().front() / "id"));
  }
  EXPECT_TRUE(fs::exists(key_folders().front() / "id")) << "the second driver removes only its own folder";
  EXPECT_EQ(end_of(request()).how, How::kExited);
  running.stop.kill();
  EXPECT_EQ(running.end().how, How::kStopped);
  EXPECT_TRUE(keys_are_gone());
}

TEST_F(SshDriverTest, AnExecutionIdNeverBecomesAPath) {
  CommandRequest asked = request();
  asked.execution = "../ca";
  EXPECT_EQ(end_of(asked).how, How::kHostFailed);
  EXPECT_TRUE(fs::exists(host_->data_dir() + "/ca/user_ca"));
}

}  // namespace
}  // namespace millrace::machines
