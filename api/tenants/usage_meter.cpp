#include "api/tenants/usage_meter.h"

#include <utility>
#include <vector>

#include "platform/base/log.h"

namespace millrace::api {

void UsageMeter::State::add(const Owner& owner, const Sum& sum) {
  const std::lock_guard lock(mutex);
  Sum& to = sums[owner];
  to.requests += sum.requests;
  to.charge.cost += sum.charge.cost;
  to.charge.tokens += sum.charge.tokens;
  to.charge.audio_ms += sum.charge.audio_ms;
}

void UsageMeter::add(const std::string& tenant, const std::string& key_id, std::int64_t requests,
                     const schemas::Charge& charge) {
  state_->add({tenant, key_id}, {requests, charge});
}

void UsageMeter::add_reservation() {
  const std::lock_guard lock(state_->mutex);
  ++state_->reservations;
}

void UsageMeter::settle(const base::Uuid& reservation, const schemas::Charge& used) {
  spending_.settle(reservation, used, [state = state_, reservation, used](const base::Result<bool>& done) {
    const std::lock_guard lock(state->mutex);
    if (done) {
      --state->reservations;
    } else {
      state->unsettled.emplace_back(reservation, used);
    }
  });
}

void UsageMeter::flush() {
  const base::BootTime now = clock_.boot();
  std::vector<std::pair<base::Uuid, schemas::Charge>> unsettled;
  bool has_reservations = false;
  {
    const std::lock_guard lock(state_->mutex);
    unsettled.swap(state_->unsettled);
    has_reservations = state_->reservations > 0;
  }
  for (const auto& [reservation, used] : unsettled) settle(reservation, used);
  if (has_reservations && now - renewed_at_ >= storage::Spending::kRenewalPeriod) {
    renewed_at_ = now;
    spending_.renew(holder_, [](const base::Result<bool>& done) {
      if (!done) base::log_warn("reservations_renewal_failed", {{"why", done.error().message}});
    });
  }
  write_sums();
}

void UsageMeter::write_sums() {
  constexpr std::size_t kOwners = storage::Spending::kOwnersMax;
  std::vector<std::vector<storage::Spending::Used>> writes;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->writes > 0) return;
    for (const auto& [owner, sum] : std::exchange(state_->sums, {})) {
      if (writes.empty() || writes.back().size() == kOwners) writes.emplace_back().reserve(kOwners);
      writes.back().push_back({owner.first, owner.second, sum.requests, sum.charge});
    }
    state_->writes = writes.size();
  }
  for (const auto& write : writes) {
    spending_.add(write, [state = state_, write](const base::Result<bool>& done) {
      if (!done) {
        for (const auto& each : write) state->add({each.tenant, each.key_id}, {each.requests, each.charge});
      }
      const std::lock_guard lock(state->mutex);
      --state->writes;
    });
  }
}

}  // namespace millrace::api
