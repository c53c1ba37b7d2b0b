#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "storage/postgres/result.h"
#include "storage/postgres/write_queue.h"

namespace millrace::storage {

// Some rows of a result.
struct KeyedRows {
  std::shared_ptr<const PostgresResult> result{};
  int first = 0, count = 0;
};

// What the reads by key of a transaction have found, and keys that are to be read next. A write drops what it
// may change.
class ReadCache {
 public:
  using Text = std::shared_ptr<PostgresText>;
  using Keys = std::unordered_set<std::string>;

  // `rest`: further values of the read, in any form that tells them apart.
  std::optional<KeyedRows> find(const Text& read, const std::string& key, const std::string& rest = {}) const;
  void put(const Text& read, const std::string& key, KeyedRows rows, const std::string& rest = {});
  // Drops what a write, or another statement, may change. `key`: its first value.
  void drop(const StatementForm& write, const std::string& key);
  void clear();

  // Reads of one row per key that the transaction will need.
  void prefetch(const Text& read, std::string_view key, unsigned type);
  bool is_pending(const Text& read, const std::string& key) const;
  struct Pending {
    Text read;
    PostgresArray keys{};
    Keys set{};
  };
  std::vector<Pending> take_pending() { return std::exchange(pending_, {}); }
  // `found` has the key as its last column.
  void put_all(const Pending& pending, PostgresResult found);

 private:
  struct Reads {
    Text read;
    std::unordered_map<std::string, std::map<std::string, KeyedRows>> rows;  // by key and rest
  };
  std::vector<Reads> reads_;
  std::vector<Pending> pending_;
};

}  // namespace millrace::storage
