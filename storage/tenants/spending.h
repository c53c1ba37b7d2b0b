#pragma once
#include <optional>
#include <string>
#include <vector>

#include "platform/base/ids.h"
#include "schemas/tenants/money.h"
#include "storage/store.h"

namespace millrace::storage {

// Money and usage of direct requests, which are no jobs. A request of an owner with a budget reserves the
// most that its first call may cost, extends that before further calls, and settles what it used. If its
// process dies, the reservation is charged in full. Writes; they never block, and `done` runs on the
// completion thread after the commit.
class Spending {
 public:
  explicit Spending(Store& store) : store_(store) {}

  struct Request {
    std::string tenant, key_id;
    // The most that the first call may cost. Absent: its model has no price, so that a budget refuses it.
    std::optional<schemas::NanoUsd> cost_max;
    base::Uuid holder;  // the process that answers; it renews its reservations
  };
  // Returns the id that the reservation will have; `done` gets it, or nothing if the owner has no hard
  // budget. kBudgetExceeded: the budget does not allow it. kOverloaded: the store refuses writes.
  base::Uuid reserve(Request request, Callback<std::optional<base::Uuid>> done);
  // Another call may cost up to `more`. kBudgetExceeded. kNotFound: the reservation has expired.
  void extend(base::Uuid reservation, schemas::NanoUsd more, Callback<bool> done);
  // The end of the request. Without this report the reservation is charged in full when it expires. It may
  // follow `reserve` at once: it runs later.
  void settle(base::Uuid reservation, schemas::Charge used, Callback<bool> done);
  // Call it at least every kRenewalPeriod while the holder answers requests with reservations.
  void renew(base::Uuid holder, Callback<bool> done);
  static constexpr std::chrono::seconds kRenewalPeriod{20};

  // What owners used without a reservation, since the last call: at most kOwnersMax. `done` gets true.
  struct Used {
    std::string tenant, key_id;
    std::int64_t requests = 0;
    schemas::Charge charge{};
  };
  void add(std::vector<Used> used, Callback<bool> done);
  // Of one `add`, which takes the write lock for some 10 ms then. 10,000 would take 0.6 s.
  static constexpr std::size_t kOwnersMax = 500;

  // Maintenance: charges at most `limit` reservations of processes that are gone. `done` gets their number.
  void settle_abandoned(int limit, Callback<int> done);

 private:
  Store& store_;
};

}  // namespace millrace::storage
