#include "storage/postgres/read_cache.h"

#include <algorithm>
#include <utility>

namespace millrace::storage {

std::optional<KeyedRows> ReadCache::find(const Text& read, const std::string& key,
                                         const std::string& rest) const {
  const auto reads = std::ranges::find(reads_, read, &Reads::read);
  if (reads == reads_.end()) return std::nullopt;
  const auto of_key = reads->rows.find(key);
  if (of_key == reads->rows.end()) return std::nullopt;
  const auto rows = of_key->second.find(rest);
  return rows == of_key->second.end() ? std::nullopt : std::optional(rows->second);
}

void ReadCache::put(const Text& read, const std::string& key, KeyedRows rows, const std::string& rest) {
  auto reads = std::ranges::find(reads_, read, &Reads::read);
  if (reads == reads_.end()) reads = reads_.insert(reads_.end(), {read, {}});
  reads->rows[key].insert_or_assign(rest, std::move(rows));
}

void ReadCache::drop(const StatementForm& write, const std::string& key) {
  const bool is_write = write.kind == StatementForm::Kind::kWrite;
  for (Reads& each : reads_) {
    if (is_write && !each.read->form.names(write.target)) continue;
    const bool is_by_key = is_write && !write.key.empty() && write.key == each.read->form.key;
    is_by_key ? static_cast<void>(each.rows.erase(key)) : each.rows.clear();
  }
}

void ReadCache::clear() {
  reads_.clear();
  pending_.clear();
}

void ReadCache::prefetch(const Text& read, std::string_view key, unsigned type) {
  std::string bytes(key);
  if (find(read, bytes)) return;
  auto pending = std::ranges::find(pending_, read, &Pending::read);
  if (pending == pending_.end()) pending = pending_.insert(pending_.end(), {.read = read});
  if (pending->set.insert(bytes).second) pending->keys.add({.type = type, .bytes = std::move(bytes)});
}

bool ReadCache::is_pending(const Text& read, const std::string& key) const {
  const auto pending = std::ranges::find(pending_, read, &Pending::read);
  return pending != pending_.end() && pending->set.contains(key);
}

void ReadCache::put_all(const Pending& pending, PostgresResult found) {
  const auto result = std::make_shared<const PostgresResult>(std::move(found));
  for (const std::string& key : pending.set) put(pending.read, key, {result, 0, 0});
  for (int row = 0; row < result->rows(); ++row)
    put(pending.read, std::string(result->bytes(row, result->columns() - 1)), {result, row, 1});
}

}  // namespace millrace::storage
