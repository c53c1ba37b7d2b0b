#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "storage/db/db.h"

// Inside storage: conversion between our types and column values.
namespace millrace::storage {

// A view of the digest's 32 bytes, valid as long as `digest`.
std::string_view digest_bytes(const base::Sha256Digest& digest);
// All zeros if the column does not have 32 bytes.
base::Sha256Digest digest_at(const Statement& row, int column);
std::optional<base::WallTime> optional_time(std::optional<std::int64_t> ms);
std::optional<std::string_view> null_if_empty(std::string_view text);  // absent if the text is empty
// The value of a payload's column `bytes`; absent if the payload is stored in a blob.
std::optional<BlobView> inline_bytes(std::string_view bytes, std::optional<std::int64_t> blob);
// The value of its column `hash`: XXH3 (64 bits) of `bytes`; absent if the payload is stored in a blob.
std::optional<std::int64_t> inline_hash(std::string_view bytes, std::optional<std::int64_t> blob);

// Inside storage: the largest possible id, from which a page of the newest rows starts.
inline base::Uuid max_id() {
  std::array<std::uint8_t, 16> bytes{};
  bytes.fill(0xFF);
  return base::Uuid(bytes);
}

}  // namespace millrace::storage
