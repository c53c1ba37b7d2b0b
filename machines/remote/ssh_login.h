#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "machines/keys/ssh_authority.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {

// A folder (0700) that may be there already. kHostAgentFailed: the disk refuses.
base::Status make_private(const std::string& path);

// Where a process keeps the keys of its running commands: a folder of its own (0700) in DATA/ssh, held by a
// lock for as long as this lives, and removed with it.
class SshFolder {
 public:
  // Makes DATA/ssh (0700) if it is not there, and removes what processes have left in it that are gone.
  // kHostAgentFailed: the disk refuses. Blocks on the disk.
  static base::Result<std::unique_ptr<SshFolder>> open(const std::string& data_dir);
  ~SshFolder();
  SshFolder(const SshFolder&) = delete;
  SshFolder& operator=(const SshFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  SshFolder(std::string path, FolderLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  const std::string path_;
  const FolderLock lock_;
};

inline constexpr const char* kSshClient = "/usr/bin/ssh";

// What OpenSSH's client logs in with, for one command: a folder of its own (0700) with a fresh key, its
// certificate and the host keys that are accepted. The folder goes with it. Not thread-safe.
class SshLogin {
 public:
  struct Limits {
    std::chrono::milliseconds connect_timeout;
    std::chrono::milliseconds alive_interval;
  };

  // `home`: that of an SshFolder. REQUIRES: the machine has an ssh target. kHostAgentFailed: `name` is not
  // letters, digits and "-", or the disk refuses: its message, which may hold paths, is for the log.
  static base::Result<SshLogin> make(const std::string& home, const std::string& name,
                                     const schemas::Machine& machine, const SshAuthority& authority,
                                     Limits limits);
  ~SshLogin();
  SshLogin(SshLogin&&) noexcept = default;
  SshLogin& operator=(SshLogin&&) = delete;

  // The client that runs `remote` on the host, with a certificate that is valid for a login now. Streams are
  // the caller's to map. Blocks on the disk.
  base::Result<process::Command> command(const std::string& remote);
  // What the clients themselves said, not the host; its end if it is long.
  std::string ssh_output() const;

 private:
  SshLogin(std::string folder, std::string name, const schemas::Machine& machine,
           const SshAuthority& authority, Limits limits);
  base::Status write(const std::string& file, const std::string& content) const;
  base::Status certify() const;
  std::string known_hosts() const;

  std::unique_ptr<const std::string> folder_;  // empty: moved from
  std::string name_;
  schemas::SshTarget target_;
  std::string principal_;
  const SshAuthority& authority_;
  Limits limits_;
  SshKeyPair key_;
};

// Why a login failed, for the machine's owner, by what the client said: no path, no address.
std::string login_failure(std::string_view ssh_output);

}  // namespace millrace::machines
