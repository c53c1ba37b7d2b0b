#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines/keys/ed25519_key.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/clock.h"

namespace millrace::machines {

// OpenSSH's binary key revocation list of certificates of the authority `ca` (a blob), by serial. Serials may
// be in any order; duplicates and 0, which no list can contain, are ignored. A run of consecutive serials
// takes 16 bytes, a single one 8.
std::string key_revocation_list(std::string_view ca, std::vector<std::uint64_t> serials,
                                std::uint64_t version, base::WallTime now);

// The version of a list, read from its first bytes. nullopt: it is not a revocation list.
inline constexpr std::size_t kRevocationListHead = 20;
std::optional<std::uint64_t> revocation_list_version(std::string_view head);

// One line with the certificate, signed by `ca`. OpenSSH would accept a certificate without principals for
// every user. So an empty name, which no user has, is inserted instead.
std::string signed_certificate(const Ed25519Key& ca, const UserCertificate& certificate);
std::string signed_certificate(const Ed25519Key& ca, const HostCertificate& certificate);

}  // namespace millrace::machines
