#pragma once
#include <string>

#include "machines/ed25519_key.h"
#include "machines/ssh_authority.h"

namespace millrace::machines {

// One line with the certificate that `ca` signs. A certificate without a principal would let in anybody's
// name: it is made for the empty name instead, which nobody has.
std::string signed_certificate(const Ed25519Key& ca, const UserCertificate& certificate);
std::string signed_certificate(const Ed25519Key& ca, const HostCertificate& certificate);

}  // namespace millrace::machines
