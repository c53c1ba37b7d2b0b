#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines/keys/public_key.h"
#include "platform/base/clock.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// A lock on an existing folder. It excludes other processes and other FolderLocks of this process. It is
// advisory: access without a lock is not prevented. Released by the destructor or when the process ends.
// Movable; not thread-safe.
class FolderLock {
 public:
  // Blocks until the lock is free. kInternal: `path` cannot be opened or is not a folder.
  static base::Result<FolderLock> wait(const std::string& path);
  // Does not block. nullopt: the lock is held by another holder. Errors are as above.
  static base::Result<std::optional<FolderLock>> try_now(const std::string& path);

 private:
  explicit FolderLock(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
};

// The two SSH authorities of this gateway (docs/design/engines.md §4).

// A key pair for one use.
struct SshKeyPair {
  std::string private_key;  // OpenSSH's file format, unencrypted; secret
  PublicKey public_key;
};
SshKeyPair make_key_pair();  // Ed25519

struct UserCertificate {
  PublicKey key;
  std::uint64_t serial = 0;
  std::string key_id;
  std::string principal;
  base::WallTime valid_from{}, valid_until{};
  bool pty = true;  // permit-pty is the only extension that is supported
};

struct HostCertificate {
  PublicKey key;
  std::uint64_t serial = 0;
  std::string key_id;
  std::vector<std::string> names;
  base::WallTime valid_from{}, valid_until{};
};

// The Ed25519 keys of the user CA and of the host CA. They are two different keys in
// SECRETS/ca/{user_ca,host_ca} (0600, OpenSSH's format), each with a .pub file. Immutable, thread-safe.
class SshAuthority {
 public:
  // Creates missing keys. If two processes do so at once, both use the keys of the first. Blocks on the disk.
  // `data_dir` gets the revocation list; empty: `secrets_dir`.
  static base::Result<std::shared_ptr<const SshAuthority>> open(const std::string& secrets_dir,
                                                                std::string data_dir = {});

  const std::string& user_ca() const;  // "ssh-ed25519 AAAA…"
  const std::string& host_ca() const;

  // Returns one line: "ssh-ed25519-cert-v01@openssh.com AAAA…". Takes about 30 µs.
  std::string sign(const UserCertificate& certificate) const;
  std::string sign(const HostCertificate& certificate) const;

  // The binary revocation list of the user CA for these serials, in the format of sshd's RevokedKeys.
  std::string revocation_list(std::vector<std::uint64_t> serials, std::uint64_t version,
                              base::WallTime now) const;
  // Writes the list to DATA/ca/revoked.krl (0644, in a 0711 folder) and replaces the file atomically. A lock
  // serialises writers across processes. An existing list with a newer version is kept. Blocks.
  base::Status write_revocation_list(std::vector<std::uint64_t> serials, std::uint64_t version,
                                     base::WallTime now) const;

  struct Keys;
  explicit SshAuthority(std::unique_ptr<const Keys> keys);
  ~SshAuthority();

 private:
  std::unique_ptr<const Keys> keys_;
};

}  // namespace millrace::machines
