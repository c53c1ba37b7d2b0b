#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/clock.h"

namespace millrace::machines {

// OpenSSH's binary key revocation list: certificates of the authority `ca` (a blob) by their serials. Serials
// in any order, twice or 0 (which no list can name) do no harm; a run of them takes 16 bytes, a single one 8.
std::string key_revocation_list(std::string_view ca, std::vector<std::uint64_t> serials,
                                std::uint64_t version, base::WallTime now);

// The version of such a list, by its beginning; nullopt: it is none.
inline constexpr std::size_t kRevocationListHead = 20;
std::optional<std::uint64_t> revocation_list_version(std::string_view head);

}  // namespace millrace::machines
