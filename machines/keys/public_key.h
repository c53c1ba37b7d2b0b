#pragma once
#include <string>
#include <string_view>

#include "platform/base/result.h"

namespace millrace::machines {

// Reads the wire form of a public key strictly: exactly the fields of its type, each of them sound. Gives the
// type. kInvalidField as `public_key_from`.
base::Result<std::string> public_key_type(std::string_view blob);

// Of a type that `public_key_type` gives: "ssh-ed25519" → "ssh-ed25519-cert-v01@openssh.com".
std::string certificate_type(std::string_view type);

// The answer to a key that is not taken: what is wrong, and what to send instead.
base::Error refused_key(std::string_view what);

// An SSH public key that has been read strictly: its wire form has exactly the fields of its type.
struct PublicKey {
  std::string type;  // "ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa", "sk-ssh-ed25519@openssh.com", …
  std::string blob;  // the wire form
  std::string comment;
  std::string line() const;         // "ssh-ed25519 AAAA…", without the comment
  std::string fingerprint() const;  // "SHA256:…"
};

// One line of authorized_keys without options, spaces around it trimmed: ed25519, ecdsa (nistp256, 384, 521;
// the point lies on the curve), rsa of 3,072 to 16,384 bits, and their sk- forms. kInvalidField with a
// message that says what is wrong and what to send instead: DSA, a short RSA key, a private key, several
// keys, options, a certificate, damage.
base::Result<PublicKey> public_key_from(std::string_view line);

}  // namespace millrace::machines
