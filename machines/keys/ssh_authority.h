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

// A lock on a folder that is there, against other processes and other locks of this one. It ends with this,
// or with the process. Who goes into the folder without it is not kept out. Movable; not thread-safe.
class FolderLock {
 public:
  // Blocks until nobody else holds it. kInternal: `path` cannot be opened, or is no folder.
  static base::Result<FolderLock> wait(const std::string& path);
  // nullopt: somebody else holds it. Errors as above.
  static base::Result<std::optional<FolderLock>> try_now(const std::string& path);

 private:
  explicit FolderLock(base::Fd fd) : fd_(std::move(fd)) {}
  base::Fd fd_;
};

// The two SSH authorities of this gateway (docs/design/engines.md §4).

// A pair for one use.
struct SshKeyPair {
  std::string private_key;  // OpenSSH's file format, unencrypted. A secret
  PublicKey public_key;
};
SshKeyPair make_key_pair();  // Ed25519

struct UserCertificate {
  PublicKey key;
  std::uint64_t serial = 0;
  std::string key_id;
  std::string principal;
  base::WallTime valid_from{}, valid_until{};
  bool pty = true;  // the only extension there may be
};

struct HostCertificate {
  PublicKey key;
  std::uint64_t serial = 0;
  std::string key_id;
  std::vector<std::string> names;
  base::WallTime valid_from{}, valid_until{};
};

// Ed25519 keys of the user CA and the host CA, two different ones: DATA/ca/{user_ca,host_ca} (0600, OpenSSH's
// format) with their .pub. Immutable, thread-safe.
class SshAuthority {
 public:
  // Makes what is missing (two processes may do so at once: the first wins). Blocks on the disk.
  static base::Result<std::shared_ptr<const SshAuthority>> open(const std::string& data_dir);

  const std::string& user_ca() const;  // "ssh-ed25519 AAAA…"
  const std::string& host_ca() const;

  // One line: "ssh-ed25519-cert-v01@openssh.com AAAA…". Some 30 µs.
  std::string sign(const UserCertificate& certificate) const;
  std::string sign(const HostCertificate& certificate) const;

  // The binary revocation list of the user CA with these serials, as sshd's RevokedKeys reads it.
  std::string revocation_list(std::vector<std::uint64_t> serials, std::uint64_t version,
                              base::WallTime now) const;
  // Writes it to DATA/ca/revoked.krl (0644 in the 0711 folder, replaced at once), one writer after the other
  // across processes. A list that is there and of a newer version stays. Blocks.
  base::Status write_revocation_list(std::vector<std::uint64_t> serials, std::uint64_t version,
                                     base::WallTime now) const;

  struct Keys;
  explicit SshAuthority(std::unique_ptr<const Keys> keys);
  ~SshAuthority();

 private:
  std::unique_ptr<const Keys> keys_;
};

}  // namespace millrace::machines
