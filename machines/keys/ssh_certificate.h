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

// OpenSSH's binary key revocation list: certificates of the authority `ca` (a blob) by their serials. Serials
// in any order, twice or 0 (which no list can name) do no harm; a run of them takes 16 bytes, a single one 8.
std::string key_revocation_list(std::string_view ca, std::vector<std::uint64_t> serials,
                                std::uint64_t version, base::WallTime now);

// The version of such a list, by its beginning; nullopt: it is none.
inline constexpr std::size_t kRevocationListHead = 20;
std::optional<std::uint64_t> revocation_list_version(std::string_view head);

// One line with the certificate that `ca` signs. A certificate without a principal would let in anybody's
// name: it is made for the empty name instead, which nobody has.
std::string signed_certificate(const Ed25519Key& ca, const UserCertificate& certificate);
std::string signed_certificate(const Ed25519Key& ca, const HostCertificate& certificate);

}  // namespace millrace::machines
