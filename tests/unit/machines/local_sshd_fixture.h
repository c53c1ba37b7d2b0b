#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "machines/keys/ssh_authority.h"
#include "machines/sandbox/sandbox.h"
#include "machines/sshd/local_sshd.h"
#include "tests/support/wait_until.h"
#include "tests/unit/machines/ssh_tools.h"

namespace millrace::machines {

// A machine with a running SSH listener, and a stock OpenSSH client that connects to it. Skips if no sandbox
// can be created.
class LocalSshdTest : public SshTools {
 protected:
  void SetUp() override;
  // Reopens with other options and starts the machine's listener.
  void open(LocalSshd::Options options);
  // A valid certificate for the fixture's key. `change` can modify it.
  std::string certificate(const std::function<void(UserCertificate&)>& change = {}) const;
  // Runs `ssh` with this certificate; empty: only with the key. `options` precede the host.
  process::Captured ssh(const std::string& certificate, const std::string& command,
                        std::vector<std::string> options = {});
  // Runs a command with a valid certificate. It must exit with code 0. Returns its output.
  std::string inside(const std::string& command, std::vector<std::string> options = {});
  // Starts the listener of another machine.
  LocalSshd::Endpoint neighbour();
  // The options with which stock OpenSSH trusts this machine and no other host.
  std::vector<std::string> trust(const std::string& certificate);
  void revoke(std::uint64_t serial);
  void end_key_of(std::int64_t serial);
  void set_listener_state(base::Result<schemas::SshListenerState> state);
  // The start of a connection to the machine blocks until `let_go`.
  void hold();
  void let_go();
  bool is_held();  // waits until a start blocks; false: none did in time
  int uses() const;
  std::string machine_file(const std::string& name) const;

  support::TempDir data_;
  std::unique_ptr<Sandbox> sandbox_;
  schemas::Machine machine_;
  std::shared_ptr<const SshAuthority> authority_;
  SshKeyPair pair_ = make_key_pair();
  std::string host_ca_;          // trusted by the client
  std::string user_ = kSshUser;  // the login name
  LocalSshd::Endpoint endpoint_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
  int held_ = 0;
  base::Result<std::vector<std::uint64_t>> revoked_ = std::vector<std::uint64_t>();
  base::Result<schemas::SshListenerState> listener_of(const base::Uuid& machine);
  base::Result<schemas::SshListenerState> listener_ =
      schemas::SshListenerState::kActive;  // the state that the gateway reports
  int uses_ = 0;
  static std::string key_of(std::int64_t serial) { return "key" + std::to_string(serial); }
  std::vector<std::string> ended_;   // API keys that have ended
  std::unique_ptr<LocalSshd> sshd_;  // last, because its thread uses the other members
};

// A client that sends its version line, or `sent`, and nothing more.
class IdleClient {
 public:
  explicit IdleClient(const LocalSshd::Endpoint& endpoint, std::string_view sent = "SSH-2.0-Test\r\n");
  bool connected() const { return connected_; }
  // The first received bytes; empty: the connection was closed, or nothing arrived in time.
  std::string receive();
  // True if the peer closes the connection in time.
  bool closed();
  bool readable(std::chrono::milliseconds within = support::kDeadline) const;

 private:
  base::Fd socket_;
  bool connected_ = false;
};

}  // namespace millrace::machines
