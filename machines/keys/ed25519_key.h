#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "machines/keys/public_key.h"
#include "platform/base/result.h"

// OpenSSH's format of private key files ("openssh-key-v1"), for one unencrypted Ed25519 key.
namespace millrace::machines {

inline constexpr std::string_view kEd25519Type = "ssh-ed25519";
inline constexpr std::size_t kEd25519PointBytes = 32;
using Ed25519Seed = std::array<std::uint8_t, 32>;

struct Ed25519FileKey {
  Ed25519Seed seed{};  // secret; the caller must wipe it
  std::string point;   // the public half, 32 bytes
};

std::string openssh_file(const Ed25519FileKey& key);
// False: `text` is not such a file.
bool read_openssh_file(std::string_view text, Ed25519FileKey& key);

// An Ed25519 key pair for SSH. Immutable, thread-safe. The private half is wiped at the end.
class Ed25519Key {
 public:
  static Ed25519Key make();
  // Parses OpenSSH's unencrypted file format. kInternal: it is not such a file, or the two halves do not
  // match; the message names `place`.
  static base::Result<Ed25519Key> from_file(std::string_view text, std::string_view place);

  const PublicKey& public_key() const { return public_key_; }
  // The key in the file format. Secret; the caller must wipe it.
  std::string file() const;
  // The signature in its wire form: "ssh-ed25519" and 64 bytes.
  std::string sign(std::string_view message) const;

 private:
  struct Secret;
  explicit Ed25519Key(std::shared_ptr<const Secret> secret);

  std::shared_ptr<const Secret> secret_;
  PublicKey public_key_;
};

}  // namespace millrace::machines
