#pragma once
#include <memory>
#include <string>

#include "machines/driver.h"
#include "machines/keys/ssh_authority.h"
#include "platform/process/spawner.h"

namespace millrace::machines {

// The driver `ssh`: OpenSSH's client to the machine's host, with a key and a certificate of our user CA that
// are made for that one command and gone with it. The command's words, variables and input travel through the
// connection, never on a command line of this host; on the remote one only the command's own is seen.
//
// Needs Linux and Perl (5.10 or later, its core) there, and any login shell: a POSIX shell alone can tell
// neither a signal from an exit code nor why a command did not begin. A connection that breaks is
// kHostFailed; the host then ends the command when its sshd sees it, which it may do late
// (ClientAliveInterval). What took another user's rights there (sudo) may be left running. A text without a
// format that can be executed is run by the host's sh. No artifacts: $MILLRACE_ARTIFACTS is not set.
class SshDriver final : public Driver {
 public:
  struct Options {
    std::string data_dir;  // DATA/ssh/ holds the keys of running commands (0700), of each process apart
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds alive_interval{5'000};  // three without an answer: the connection is broken
  };
  // Error: there is no OpenSSH client here.
  static base::Result<std::unique_ptr<SshDriver>> open(Options options, process::Spawner& spawner,
                                                       std::shared_ptr<const SshAuthority> authority);
  ~SshDriver() override;
  SshDriver(const SshDriver&) = delete;
  SshDriver& operator=(const SshDriver&) = delete;

  CommandEnd run(const CommandRequest& order, const CancelToken& stop, const CommandHooks& hooks) override;
  // Logs in once: kMachineNotRoutable.
  base::Result<schemas::MachineFacts> start(const schemas::Machine& machine,
                                            const CancelToken& cancel) override;
  // Nothing: the host is its operator's.
  base::Status stop(const schemas::Machine& machine, const CancelToken& cancel) override;
  base::Status destroy(const schemas::Machine& machine, const CancelToken& cancel) override;

 private:
  struct Parts;
  explicit SshDriver(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::machines
