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
  wanted_.clear();
}

void ReadCache::want(const Text& read, std::string_view key, unsigned type) {
  std::string bytes(key);
  if (find(read, bytes)) return;
  auto wanted = std::ranges::find(wanted_, read, &Wanted::read);
  if (wanted == wanted_.end()) wanted = wanted_.insert(wanted_.end(), {.read = read});
  if (wanted->set.insert(bytes).second) wanted->keys.add({.type = type, .bytes = std::move(bytes)});
}

bool ReadCache::wants(const Text& read, const std::string& key) const {
  const auto wanted = std::ranges::find(wanted_, read, &Wanted::read);
  return wanted != wanted_.end() && wanted->set.contains(key);
}

void ReadCache::put_all(const Wanted& wanted, PostgresResult found) {
  const auto result = std::make_shared<const PostgresResult>(std::move(found));
  for (const std::string& key : wanted.set) put(wanted.read, key, {result, 0, 0});
  for (int row = 0; row < result->rows(); ++row)
    put(wanted.read, std::string(result->bytes(row, result->columns() - 1)), {result, row, 1});
}

}  // namespace millrace::storage
