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

}  // namespace millrace::machines
