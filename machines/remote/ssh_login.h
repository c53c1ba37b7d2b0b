#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "machines/keys/ssh_authority.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {

// Creates a folder (0700) unless it exists. kHostAgentFailed: it cannot be created.
base::Status make_private(const std::string& path);

// The folder (0700) in DATA/ssh in which this process keeps the keys of its running commands. This object
// locks it and removes it at the end.
class SshFolder {
 public:
  // Creates DATA/ssh (0700) if necessary and removes the folders of processes that have ended.
  // kHostAgentFailed: a file operation failed. Blocks on the disk.
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

// The credentials for one command: a folder (0700) with a new key, its certificate and the accepted host
// keys. The destructor removes the folder. Not thread-safe.
class SshLogin {
 public:
  struct Limits {
    std::chrono::milliseconds connect_timeout;
    std::chrono::milliseconds alive_interval;
  };

  // `home` is the path of an SshFolder. REQUIRES: the machine has an ssh target. kHostAgentFailed: `name`
  // contains characters other than letters, digits and "-", or a file operation failed. The message may
  // contain paths and is for the log.
  static base::Result<SshLogin> make(const std::string& home, const std::string& name,
                                     const schemas::Machine& machine, const SshAuthority& authority,
                                     Limits limits);
  ~SshLogin();
  SshLogin(SshLogin&&) noexcept = default;
  SshLogin& operator=(SshLogin&&) = delete;

  // Returns the client process that runs `remote` on the host, with a certificate that is valid for a login
  // now. The caller sets its standard streams. Blocks on the disk.
  base::Result<process::Command> command(const std::string& remote);
  // The messages of the ssh client itself, not of the host. If they are long, only the last part.
  std::string ssh_output() const;

 private:
  SshLogin(std::string folder, std::string name, const schemas::Machine& machine,
           const SshAuthority& authority, Limits limits);
  base::Status write(const std::string& file, const std::string& content) const;
  base::Status certify() const;
  std::string known_hosts() const;

  std::unique_ptr<const std::string> folder_;  // null after a move
  std::string name_;
  schemas::SshTarget target_;
  std::string principal_;
  const SshAuthority& authority_;
  Limits limits_;
  SshKeyPair key_;
};

// The reason of a failed login, for the machine's owner, derived from the client's messages. It contains no
// path and no address.
std::string login_failure(std::string_view ssh_output);

}  // namespace millrace::machines
