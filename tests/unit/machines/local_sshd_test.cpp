#include "machines/sshd/local_sshd.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include "tests/support/processes.h"
#include "tests/support/wait_until.h"
#include "tests/unit/machines/local_sshd_fixture.h"
#include "tests/unit/machines/sandbox_fixture.h"

namespace millrace::machines {
namespace {

using support::wait_until;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kDenied = "Permission denied (publickey)";
constexpr int kSshFailed = 255;

TEST_F(LocalSshdTest, ACertificateForTheMachineLogsInAsItsUser) {
  EXPECT_EQ(inside("id -u; id -un; pwd; echo $HOME $MILLRACE_MACHINE_ID"),
            "1000\nmachine\n/workspace\n/workspace " + schemas::machine_id(machine_.id) + "\n");
}

TEST_F(LocalSshdTest, TheExitCodeAndTheStreamsAreTheCommandsOwn) {
  const process::Captured captured = ssh(certificate(), "echo out; echo err >&2; exit 7");
  EXPECT_EQ(captured.exit.code, 7);
  EXPECT_EQ(captured.out, "out\n");
  EXPECT_EQ(captured.err, "err\n");
}

TEST_F(LocalSshdTest, ATerminalIsGivenWhenItIsAskedFor) {
  EXPECT_EQ(inside("tty", {"-tt"}), "/dev/pts/0\r\n");
}

TEST_F(LocalSshdTest, ATerminalThatTheCertificateDoesNotPermitIsNotGiven) {
  const std::string bare = certificate([](UserCertificate& c) { c.pty = false; });
  EXPECT_THAT(ssh(bare, "tty", {"-tt"}).err, HasSubstr("PTY allocation request failed"));
  EXPECT_EQ(ssh(bare, "echo in").out, "in\n");
}

TEST_F(LocalSshdTest, FilesAreCopiedInAndOut) {
  std::string bytes(300'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
  const std::string up = dir_.write("up", bytes).string(), down = dir_.str() + "/down";
  const std::string there = std::string(kSshUser) + "@" + endpoint_.host + ":a b";
  std::vector<std::string> words = trust(certificate());
  words.insert(words.begin(), {"scp", "-q", "-P", std::to_string(endpoint_.port)});
  std::vector<std::string> in = words, out = words;
  in.insert(in.end(), {up, there});
  out.insert(out.end(), {there, down});
  output_of(in);
  EXPECT_EQ(inside("wc -c < '/workspace/a b'"), "300000\n");
  output_of(out);
  EXPECT_TRUE(text_in(down) == bytes);
}

TEST_F(LocalSshdTest, TheDiskIsTheMachinesAndTheRestIsPrivate) {
  inside("echo kept > /workspace/file; echo gone > /tmp/file");
  EXPECT_EQ(inside("cat /workspace/file; ls /tmp; ls -d /root /home " + data_.str() + " 2>/dev/null || true"),
            "kept\n");
}

TEST_F(LocalSshdTest, ThereIsNoNetworkInsideAndNoneIsForwarded) {
  const std::string port = std::to_string(endpoint_.port);
  EXPECT_EQ(inside("(exec 3<>/dev/tcp/127.0.0.1/" + port + ") 2>/dev/null && echo open || echo closed"),
            "closed\n");
  const process::Captured through = ssh(certificate(), "", {"-W", "127.0.0.1:" + port});
  EXPECT_EQ(through.exit.code, kSshFailed);
  EXPECT_EQ(through.out, "");
}

TEST_F(LocalSshdTest, WhoHasNoRightCertificateIsNotLetIn) {
  using std::chrono::hours;
  const base::WallTime now = base::SystemClock().wall();
  const support::TempDir other_dir;
  const auto other = SshAuthority::open(other_dir.str());
  ASSERT_TRUE(other);
  UserCertificate stranger{pair_.public_key, 7,   "x", schemas::machine_id(machine_.id), now - hours(1),
                           now + hours(1),   true};
  const std::vector<std::pair<const char*, std::string>> wrong = {
      {"another machine's", certificate([](UserCertificate& c) { c.principal = "dm-another"; })},
      {"nobody's", certificate([](UserCertificate& c) { c.principal.clear(); })},
      {"its user's name", certificate([](UserCertificate& c) { c.principal = kSshUser; })},
      {"expired", certificate([&](UserCertificate& c) { c.valid_until = now - std::chrono::seconds(2); })},
      {"not yet valid", certificate([&](UserCertificate& c) { c.valid_from = now + hours(1); })},
      {"of another authority", (*other)->sign(stranger)},
      {"another key's", certificate([](UserCertificate& c) { c.key = make_key_pair().public_key; })},
      {"none", ""},
  };
  for (const auto& [what, line] : wrong) {
    const process::Captured refused = ssh(line, "echo in");
    EXPECT_EQ(refused.exit.code, kSshFailed) << what;
    EXPECT_EQ(refused.out, "") << what;
    EXPECT_THAT(refused.err, HasSubstr(kDenied)) << what;
  }
  user_ = "root";
  EXPECT_THAT(ssh(certificate(), "echo in").err, HasSubstr(kDenied)) << "another user";
}

TEST_F(LocalSshdTest, AHostCertificateGrantsNoLogin) {
  const base::WallTime now = base::SystemClock().wall();
  const std::string line = authority_->sign(HostCertificate{pair_.public_key,
                                                            7,
                                                            "x",
                                                            {schemas::machine_id(machine_.id)},
                                                            now - std::chrono::hours(1),
                                                            now + std::chrono::hours(1)});
  EXPECT_THAT(ssh(line, "echo in").err, HasSubstr(kDenied));
}

TEST_F(LocalSshdTest, ARevokedSerialIsRefusedFromTheNextConnectionOn) {
  EXPECT_EQ(inside("echo in"), "in\n");
  revoke(8);
  EXPECT_EQ(inside("echo in"), "in\n");
  revoke(7);
  EXPECT_THAT(ssh(certificate(), "echo in").err, HasSubstr(kDenied));
}

TEST_F(LocalSshdTest, NoLoginIsPossibleWhileRevocationsAreUnknown) {
  {
    const std::lock_guard lock(mutex_);
    revoked_ = base::error(base::Code::kOverloaded, "the store is busy");
  }
  IdleClient client(endpoint_);
  EXPECT_EQ(client.receive(), "");
}

TEST_F(LocalSshdTest, TheHostIsTrustedByItsAuthorityAlone) {
  host_ca_ = authority_->user_ca();
  EXPECT_THAT(ssh(certificate(), "echo in").err, HasSubstr("Host key verification failed"));
}

TEST_F(LocalSshdTest, NothingIsLeftOfASessionThatHasEnded) {
  inside(
      "nohup setsid sleep 54321.7 >/dev/null 2>&1 & disown; setsid -f sleep 54321.7 </dev/null >/dev/null "
      "2>&1");
  EXPECT_TRUE(wait_until([] { return support::processes_with("54321.7") == 0; }));
}

TEST_F(LocalSshdTest, ItsUseIsReportedAtTheBeginningAndAtTheEnd) {
  {
    IdleClient client(endpoint_);
    EXPECT_THAT(client.receive(), StartsWith("SSH-2.0-OpenSSH"));
    EXPECT_TRUE(wait_until([&] { return uses() == 1; }));
  }
  EXPECT_TRUE(wait_until([&] { return uses() == 2; }));
}

TEST_F(LocalSshdTest, AtTheBoundTheOldestConnectionWithoutALoginIsClosedForANewOne) {
  open({.data_dir = data_.str(), .connections_max = 2});
  IdleClient first(endpoint_), second(endpoint_);
  EXPECT_THAT(first.receive(), StartsWith("SSH-2.0-"));
  EXPECT_THAT(second.receive(), StartsWith("SSH-2.0-"));
  IdleClient third(endpoint_);
  EXPECT_THAT(third.receive(), StartsWith("SSH-2.0-"));
  EXPECT_TRUE(first.closed());
  EXPECT_EQ(inside("echo in"), "in\n");
  EXPECT_TRUE(second.closed());
}

TEST_F(LocalSshdTest, AConnectionWithALoginIsNotClosedForANewOne) {
  open({.data_dir = data_.str(), .connections_max = 1});
  std::jthread login([&] { ssh(certificate(), "exec sleep $((54321 + 1)).8"); });
  ASSERT_TRUE(wait_until([] { return support::processes_with("54322.8") > 0; }));
  EXPECT_EQ(IdleClient(endpoint_).receive(), "");
  EXPECT_GT(support::processes_with("54322.8"), 0);
  sshd_->close(machine_.id);
}

TEST_F(LocalSshdTest, ALoginEndsWithinASecondOfItsKeyAndOthersGoOn) {
  std::jthread login([&] { ssh(certificate(), "exec sleep $((54321 + 2)).8"); });
  ASSERT_TRUE(wait_until([] { return support::processes_with("54323.8") > 0; }));
  end_key_of(8);
  std::jthread other(
      [&] { ssh(certificate([](UserCertificate& c) { c.serial = 9; }), "exec sleep $((54321 + 3)).8"); });
  ASSERT_TRUE(wait_until([] { return support::processes_with("54324.8") > 0; }));
  EXPECT_GT(support::processes_with("54323.8"), 0);
  end_key_of(7);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_until([] { return support::processes_with("54323.8") == 0; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
  EXPECT_GT(support::processes_with("54324.8"), 0);
  sshd_->close(machine_.id);
}

TEST_F(LocalSshdTest, AClientThatDoesNotSpeakSshGetsNoSshd) {
  for (const std::string& sent :
       {std::string("GET / HTTP/1.1\r\n"), std::string("SSX"), std::string(300, 'S')}) {
    IdleClient client(endpoint_, sent);
    EXPECT_EQ(client.receive(), "");
    EXPECT_TRUE(client.closed());
  }
  EXPECT_EQ(uses(), 0);
}

TEST_F(LocalSshdTest, AClientThatSendsNothingIsCutAndGetsNoSshd) {
  open({.data_dir = data_.str(), .version_wait = std::chrono::milliseconds(50)});
  IdleClient silent(endpoint_, ""), partial(endpoint_, "SSH-2.0-");
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(partial.closed());
  EXPECT_EQ(uses(), 0);
}

TEST_F(LocalSshdTest, FortySilentClientsDoNotDelayALogin) {
  std::vector<std::unique_ptr<IdleClient>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<IdleClient>(endpoint_, ""));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(inside("echo in"), "in\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
}

TEST_F(LocalSshdTest, AnAddressHasFewSshdsWithoutALoginAndItsOtherClientsWait) {
  open({.data_dir = data_.str(), .logins_max = 1});
  auto first = std::make_unique<IdleClient>(endpoint_);
  EXPECT_THAT(first->receive(), StartsWith("SSH-2.0-"));
  IdleClient second(endpoint_);
  EXPECT_FALSE(second.readable(std::chrono::milliseconds(200)));
  first.reset();
  EXPECT_THAT(second.receive(), StartsWith("SSH-2.0-"));
}

TEST_F(LocalSshdTest, ListeningAgainIsTheSameListener) {
  const auto again = sshd_->listen(machine_, 0);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->port, endpoint_.port);
}

TEST_F(LocalSshdTest, ClosingEndsConnectionsAndTheListenerReopensAtItsPort) {
  IdleClient client(endpoint_);
  EXPECT_THAT(client.receive(), StartsWith("SSH-2.0-"));
  const std::string key = text_in(machine_file("ssh_host_ed25519_key.pub"));
  sshd_->close(machine_.id);
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(wait_until([&] { return !IdleClient(endpoint_).connected(); }));
  sshd_->close(machine_.id);
  const auto again = sshd_->listen(machine_, endpoint_.port);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->port, endpoint_.port);
  EXPECT_EQ(text_in(machine_file("ssh_host_ed25519_key.pub")), key);
  EXPECT_EQ(inside("echo in"), "in\n");
}

TEST_F(LocalSshdTest, TheListenerOfAMachineOfAnotherWorkerIsClosedByTheNextConnection) {
  IdleClient inside(endpoint_);
  EXPECT_THAT(inside.receive(), StartsWith("SSH-2.0-"));
  set_listener_state(schemas::SshListenerState::kOver);
  EXPECT_EQ(IdleClient(endpoint_).receive(), "");
  EXPECT_TRUE(inside.closed());
  EXPECT_TRUE(wait_until([&] { return !IdleClient(endpoint_).connected(); }));
  set_listener_state(schemas::SshListenerState::kActive);
  const auto again = sshd_->listen(machine_, endpoint_.port);
  ASSERT_TRUE(again) << again.error().message;
  endpoint_ = *again;
  EXPECT_EQ(this->inside("echo in"), "in\n");
}

TEST_F(LocalSshdTest, TheListenerOfAMachineOfAnotherWorkerIsClosedInTheNextRound) {
  open({.data_dir = data_.str(), .check_interval = std::chrono::milliseconds(20)});
  IdleClient inside(endpoint_);
  EXPECT_THAT(inside.receive(), StartsWith("SSH-2.0-"));
  set_listener_state(schemas::SshListenerState::kOver);
  EXPECT_TRUE(inside.closed());
  EXPECT_TRUE(wait_until([&] { return !IdleClient(endpoint_).connected(); }));
}

TEST_F(LocalSshdTest, NoLoginIsPossibleWhileTheOwnerIsUnknownAndTheListenerStaysOpen) {
  for (const base::Result<schemas::SshListenerState>& unsure :
       {base::Result<schemas::SshListenerState>(schemas::SshListenerState::kNotYet),
        base::Result<schemas::SshListenerState>(base::error(base::Code::kOverloaded, "the store is busy"))}) {
    set_listener_state(unsure);
    EXPECT_EQ(IdleClient(endpoint_).receive(), "");
  }
  set_listener_state(schemas::SshListenerState::kActive);
  EXPECT_EQ(inside("echo in"), "in\n");
}

TEST_F(LocalSshdTest, AMachineThatFindsItsPortTakenListensAtAnother) {
  const LocalSshd::Endpoint other = neighbour();
  EXPECT_NE(other.port, endpoint_.port);
  endpoint_ = other;
  EXPECT_THAT(ssh(certificate(), "echo in").err, HasSubstr(kDenied)) << "the first machine's certificate";
}

TEST_F(LocalSshdTest, TheHostKeyIsItsOwnersAlone) {
  struct stat found {};
  ASSERT_EQ(::stat(machine_file("ssh_host_ed25519_key").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
  EXPECT_EQ(found.st_uid, ::geteuid());
}

TEST_F(LocalSshdTest, AListenerThatCannotBeOpenedIsReportedWithoutTheHostsPaths) {
  sshd_->close(machine_.id);
  ASSERT_EQ(::chmod(machine_file("ssh_host_ed25519_key").c_str(), 0644), 0);
  const auto endpoint = sshd_->listen(machine_, 0);
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code, base::Code::kHostAgentFailed);
  EXPECT_EQ(endpoint.error().message.find('/'), std::string::npos);
}

TEST_F(LocalSshdTest, AMachineWithTheHostsNetworkHasNoSsh) {
  schemas::Machine open = machine_;
  open.settings.network = true;
  const auto endpoint = sshd_->listen(open, 0);
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code, base::Code::kMachineNotRoutable);
  EXPECT_THAT(endpoint.error().message, HasSubstr("the host's network"));
}

TEST_F(LocalSshdTest, EveryAddressNeedsANameForClients) {
  const auto opened =
      LocalSshd::open({.data_dir = data_.str(), .listen_host = "0.0.0.0"}, *sandbox_, authority_, {});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("ssh.public_host"));
}

}  // namespace
}  // namespace millrace::machines
