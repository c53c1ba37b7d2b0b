#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "api/admission/byte_budget.h"

namespace millrace::api {

// The shares of a byte budget by client address, for requests without a known key. Thread-safe.
class AddressShares {
 public:
  // The share of this address; it exists while somebody holds it.
  std::shared_ptr<ByteBudget::Share> of(const std::string& address);

 private:
  static constexpr std::size_t kSweepAt =
      64;  // shares that are gone are removed when so many are known, then at twice what is left

  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<ByteBudget::Share>> shares_;
  std::size_t sweep_at_ = kSweepAt;
};

}  // namespace millrace::api
