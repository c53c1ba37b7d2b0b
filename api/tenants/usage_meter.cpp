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
  std::map<Owner, Sum> sums;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->writing || state_->sums.empty()) return;
    state_->writing = true;
    sums.swap(state_->sums);
  }
  std::vector<storage::Spending::Used> used;
  used.reserve(sums.size());
  for (const auto& [owner, sum] : sums)
    used.push_back(
        {.tenant = owner.first, .key_id = owner.second, .requests = sum.requests, .charge = sum.charge});
  spending_.add(std::move(used), [state = state_, sums = std::move(sums)](const base::Result<bool>& done) {
    if (!done) {
      for (const auto& [owner, sum] : sums) state->add(owner, sum);
    }
    const std::lock_guard lock(state->mutex);
    state->writing = false;
  });
}

}  // namespace millrace::api
