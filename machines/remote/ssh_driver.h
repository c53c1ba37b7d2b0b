#pragma once
#include <memory>
#include <string>

#include "machines/driver.h"
#include "machines/keys/ssh_authority.h"
#include "platform/process/spawner.h"

namespace millrace::machines {

// The driver `ssh`: runs OpenSSH's client to the machine's host. Each command gets a new key and a
// certificate of our user CA; both are deleted when it ends. The arguments, variables and input of the
// command are sent through the connection and never appear on a command line of this host. On the remote
// host, only the command line of the command itself is visible.
//
// The host needs Linux, Perl (5.10 or later, core modules only) and any login shell. A POSIX shell alone
// cannot distinguish a signal from an exit code, nor report why a command was not started.
//
// If the connection breaks, the result is kHostFailed. The host ends the command when its sshd notices this,
// which may take a while (ClientAliveInterval). Processes that have switched to another user there (sudo) may
// be left running. An executable text file without `#!` is run by the host's sh. Artifacts are not supported:
// $MILLRACE_ARTIFACTS is not set.
class SshDriver final : public Driver {
 public:
  struct Options {
    std::string data_dir;  // DATA/ssh/ (0700) holds the keys of running commands, in one folder per process
    std::chrono::milliseconds connect_timeout{10'000};
    // after three probes without an answer the connection counts as broken
    std::chrono::milliseconds alive_interval{5'000};
  };
  // Error: the OpenSSH client is not installed.
  static base::Result<std::unique_ptr<SshDriver>> open(Options options, process::Spawner& spawner,
                                                       std::shared_ptr<const SshAuthority> authority);
  ~SshDriver() override;
  SshDriver(const SshDriver&) = delete;
  SshDriver& operator=(const SshDriver&) = delete;

  CommandResult run(const CommandRequest& request, const CancelToken& stop,
                    const CommandHooks& hooks) override;
  // Logs in once. kMachineNotRoutable: the login failed.
  base::Result<schemas::MachineFacts> start(const schemas::Machine& machine,
                                            const CancelToken& cancel) override;
  // `stop` and `destroy` do nothing: the host is managed by its operator.
  base::Status stop(const schemas::Machine& machine, const CancelToken& cancel) override;
  base::Status destroy(const schemas::Machine& machine, const CancelToken& cancel) override;

 private:
  struct Impl;
  explicit SshDriver(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::machines
