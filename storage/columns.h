#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "storage/sqlite.h"

// Inside storage: our values as columns have them.
namespace millrace::storage {

// The digest's 32 bytes, in place: valid as long as `digest`.
std::string_view bytes_of(const base::Sha256Digest& digest);
// Zeros if the column has not 32 bytes.
base::Sha256Digest digest_at(const Statement& row, int column);
std::optional<base::WallTime> time_of(std::optional<std::int64_t> ms);
std::optional<std::string_view> or_null(std::string_view text);  // absent: it is empty
// Of a payload's columns `bytes` and `blob`; absent: it lies in the blob.
std::optional<BlobView> inline_bytes(std::string_view bytes, std::optional<std::int64_t> blob);
// Its column `hash`: XXH3 (64 bits) of `bytes`; absent: they lie in the blob.
std::optional<std::int64_t> inline_hash(std::string_view bytes, std::optional<std::int64_t> blob);

}  // namespace millrace::storage
