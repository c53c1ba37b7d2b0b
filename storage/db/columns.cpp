#include "storage/db/columns.h"

#include <algorithm>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace millrace::storage {

std::string_view digest_bytes(const base::Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

base::Sha256Digest digest_at(const Statement& row, int column) {
  base::Sha256Digest out{};
  const std::string bytes = row.blob(column);
  if (bytes.size() == out.size()) std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

std::optional<base::WallTime> optional_time(std::optional<std::int64_t> ms) {
  if (!ms) return std::nullopt;
  return base::wall_from(*ms);
}

std::optional<std::string_view> null_if_empty(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return text;
}

std::optional<BlobView> inline_bytes(std::string_view bytes, std::optional<std::int64_t> blob) {
  if (blob) return std::nullopt;
  return BlobView{bytes};
}

std::optional<std::int64_t> inline_hash(std::string_view bytes, std::optional<std::int64_t> blob) {
  if (blob) return std::nullopt;
  return static_cast<std::int64_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace millrace::storage
