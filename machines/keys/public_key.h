#pragma once
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::machines {

// Parses the wire form of a public key strictly: it must contain exactly the fields of its type, and each
// must be valid. Returns the type. kInvalidField as in `public_key_from`.
base::Result<std::string> public_key_type(std::string_view blob);

// The certificate type for a type that `public_key_type` returns: "ssh-ed25519" →
// "ssh-ed25519-cert-v01@openssh.com".
std::string certificate_type(std::string_view type);

// The error for a rejected key: what is wrong, and what to send instead.
base::Error refused_key(std::string_view what);

// An SSH public key that was validated: its wire form has exactly the fields of its type.
struct PublicKey {
  std::string type;  // "ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa", "sk-ssh-ed25519@openssh.com", …
  std::string blob;  // the wire form
  std::string comment;
  std::string line() const;         // "ssh-ed25519 AAAA…", without the comment
  std::string fingerprint() const;  // "SHA256:…"
};

// Parses one line of authorized_keys without options; surrounding spaces are ignored. Accepts ed25519, ecdsa
// (nistp256, 384, 521; the point must be on the curve), rsa of 3,072 to 16,384 bits, and their sk- forms.
// Rejects DSA keys, short RSA keys, private keys, several keys, options, certificates and damaged keys with
// kInvalidField. The message says what is wrong and what to send instead.
base::Result<PublicKey> public_key_from(std::string_view line);

}  // namespace millrace::machines
