#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace millrace::front {

// The connections that have never sent a request with a valid key, oldest first and counted per client
// address. At Limits::connections_max one of them is closed for each new one. Thread-safe.
class EvictionQueue {
 public:
  // An address with more than `share` of these connections loses its own oldest, even if others are older.
  explicit EvictionQueue(std::size_t share) : share_(share) {}

  // `id` grows with each connection. `address`: of the client (base::client_of); empty: not counted.
  void add(std::uint64_t id, const std::string& address);
  void remove(std::uint64_t id);
  // The first `count` connections to close for `new_connection`, in order.
  std::vector<std::uint64_t> candidates(std::uint64_t new_connection, std::size_t count) const;

 private:
  using Ids = std::set<std::uint64_t>;

  const std::size_t share_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::string> addresses_;  // by connection, so oldest first
  std::unordered_map<std::string, Ids> by_address_;
};

}  // namespace millrace::front
