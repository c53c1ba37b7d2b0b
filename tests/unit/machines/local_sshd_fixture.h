#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machines/keys/ssh_authority.h"
#include "machines/sandbox/sandbox.h"
#include "machines/sshd/local_sshd.h"
#include "tests/unit/machines/ssh_tools.h"

namespace millrace::machines {

// A machine that listens, and a stock OpenSSH that connects to it. Skips where no sandbox can be made.
class LocalSshdTest : public SshTools {
 protected:
  void SetUp() override;
  // Begins anew with other options; the machine listens again.
  void open(LocalSshd::Options options);
  // A certificate for the key of the fixture that is good now, changed by `change`.
  std::string certificate(const std::function<void(UserCertificate&)>& change = {}) const;
  // `ssh` by this certificate; empty: with the key alone. `options` come before the host.
  process::Captured ssh(const std::string& certificate, const std::string& command,
                        std::vector<std::string> options = {});
  // The output of a command that must end with code 0, by a good certificate.
  std::string inside(const std::string& command, std::vector<std::string> options = {});
  // Another machine that listens.
  LocalSshd::Endpoint neighbour();
  // What makes stock OpenSSH trust the machine and nothing else.
  std::vector<std::string> trust(const std::string& certificate);
  void revoke(std::uint64_t serial);
  void say(base::Result<schemas::SshListenerState> door);
  // The start of a connection to the machine blocks until it is let go.
  void hold();
  void let_go();
  bool is_held();  // waits until one does; false: none came in time
  int uses() const;
  std::string machine_file(const std::string& name) const;

  support::TempDir data_;
  std::unique_ptr<Sandbox> sandbox_;
  schemas::Machine machine_;
  std::shared_ptr<const SshAuthority> authority_;
  SshKeyPair pair_ = make_key_pair();
  std::string host_ca_;          // that the client trusts
  std::string user_ = kSshUser;  // that it logs in as
  LocalSshd::Endpoint endpoint_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
  int held_ = 0;
  base::Result<std::vector<std::uint64_t>> revoked_ = std::vector<std::uint64_t>();
  base::Result<schemas::SshListenerState> listener_of(const base::Uuid& machine);
  base::Result<schemas::SshListenerState> listener_ =
      schemas::SshListenerState::kServes;  // what the gateway says of it
  int uses_ = 0;
  std::unique_ptr<LocalSshd> sshd_;  // last: its thread uses the others
};

// A connection that says nothing.
class SilentClient {
 public:
  explicit SilentClient(const LocalSshd::Endpoint& endpoint);
  bool connected() const { return connected_; }
  // The first bytes that come; empty: it was closed, or nothing came in time.
  std::string receive();
  // True once the other end has closed it.
  bool closed();

 private:
  bool readable() const;
  base::Fd socket_;
  bool connected_ = false;
};

}  // namespace millrace::machines
