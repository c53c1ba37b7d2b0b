#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "machines/public_key.h"
#include "platform/base/result.h"

namespace millrace::machines {

// An Ed25519 key pair for SSH. Immutable, thread-safe; the private half is wiped with it.
class Ed25519Key {
 public:
  static Ed25519Key make();
  // OpenSSH's file format, unencrypted. kInternal: it is not such a file, or its halves do not fit; `place`
  // names it in the message.
  static base::Result<Ed25519Key> from_file(std::string_view text, std::string_view place);

  const PublicKey& public_key() const { return public_key_; }
  // The file again. A secret: the caller wipes it.
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
