#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/clock.h"

namespace millrace::api {

// Counts refused API keys for the audit log: one row per kEvery for each key id and client address.
// Thread-safe.
class RefusedKeys {
 public:
  static constexpr std::chrono::minutes kEvery{1};
  // Pairs that are counted separately within kEvery. Further ones are counted together, without an address.
  static constexpr std::size_t kPairsMax = 20;

  struct Count {
    std::string key_id;   // empty: no key has the id that was sent
    std::string address;  // empty: of several
    std::int64_t count = 0;
  };

  void add(std::string_view key_id, std::string_view address);
  // The counts of the pairs that had no row within kEvery.
  std::vector<Count> take_due(base::BootTime now);

 private:
  struct Pair {
    std::int64_t count = 0;        // since the last row
    base::BootTime next_row_at{};  // at the epoch: it had none
  };
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Pair> pairs_;  // by key id and address
};

}  // namespace millrace::api
