#include "storage/tenants/spending.h"

#include <utility>

#include "storage/db/db.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/tenants/reservations.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kSpendingBytes = 256;  // of a write's rows
constexpr std::size_t kOwnerBytes = 2048;    // of one owner of `add`: a group has space for kOwnersMax

base::Result<std::optional<base::Uuid>> reserve_in(Tx& tx, const Spending::Request& request,
                                                   const base::Uuid& id) {
  const Owner owner{request.tenant, request.key_id};
  if (!tx.quotas.has_budget(tx.db, owner)) return std::optional<base::Uuid>();
  if (auto refused = budget_refusal(tx, owner, request.cost_max)) return std::move(*refused);
  reserve_for_request(tx, id, owner, *request.cost_max, request.holder);
  return std::optional(id);
}

// A write without a result. It is urgent: it ends something, or another process waits for it.
void submit_status(Store& store, Callback<bool> done, std::function<base::Status(Tx&)> work,
                   std::size_t bytes = kSpendingBytes) {
  submit_write<bool>(
      store.writer(), Writer::Priority::kUrgent, bytes,
      [work = std::move(work)](Tx& tx) -> base::Result<bool> {
        if (const base::Status status = work(tx); !status) return status.error();
        return true;
      },
      std::move(done));
}

}  // namespace

base::Uuid Spending::reserve(Request request, Callback<std::optional<base::Uuid>> done) {
  const base::Uuid id = base::Uuid::make(store_.clock().wall());
  submit_write<std::optional<base::Uuid>>(
      store_.writer(), Writer::Priority::kInteractive, kSpendingBytes,
      [request = std::move(request), id](Tx& tx) { return reserve_in(tx, request, id); }, std::move(done));
  return id;
}

void Spending::extend(base::Uuid reservation, schemas::NanoUsd more, Callback<bool> done) {
  submit_status(store_, std::move(done),
                [reservation, more](Tx& tx) { return extend_request(tx, reservation, more); });
}

void Spending::settle(base::Uuid reservation, schemas::Charge used, Callback<bool> done) {
  submit_status(store_, std::move(done), [reservation, used](Tx& tx) -> base::Status {
    settle_request(tx, reservation, used);
    return {};
  });
}

void Spending::renew(base::Uuid holder, Callback<bool> done) {
  submit_status(store_, std::move(done), [holder](Tx& tx) -> base::Status {
    renew_reservations(tx, holder);
    return {};
  });
}

void Spending::add(std::vector<Used> used, Callback<bool> done) {
  const std::size_t bytes = used.size() * kOwnerBytes;
  const auto write = [used = std::move(used)](Tx& tx) -> base::Status {
    for (const Used& each : used) {
      tx.quotas.add_use(tx.db, {each.tenant, each.key_id}, utc_day(tx.now),
                        {.cost = each.charge.cost,
                         .requests = each.requests,
                         .tokens = each.charge.tokens,
                         .audio_ms = each.charge.audio_ms});
    }
    return {};
  };
  submit_status(store_, std::move(done), write, bytes);
}

void Spending::settle_abandoned(int limit, Callback<int> done) {
  submit_step(store_, Writer::Priority::kUrgent, std::move(done),
              [limit](Tx& tx) { return storage::settle_abandoned(tx, limit); });
}

}  // namespace millrace::storage
