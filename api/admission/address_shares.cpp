#include "api/admission/address_shares.h"

#include <algorithm>

namespace millrace::api {

std::shared_ptr<ByteBudget::Share> AddressShares::of(const std::string& address) {
  const std::lock_guard lock(mutex_);
  if (shares_.size() >= sweep_at_) {
    std::erase_if(shares_, [](const auto& each) { return each.second.expired(); });
    sweep_at_ = std::max(kSweepAt, 2 * shares_.size());
  }
  std::weak_ptr<ByteBudget::Share>& known = shares_[address];
  auto share = known.lock();
  if (!share) known = share = std::make_shared<ByteBudget::Share>();
  return share;
}

}  // namespace millrace::api
