#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/tenants/money.h"
#include "storage/tenants/spending.h"

namespace millrace::api {

// What requests used that need no reservation: collected in memory, and written to the store when `flush` is
// called, about once a second. A crash loses what was not written: statistics, never money of a budget.
// Thread-safe.
class UsageMeter {
 public:
  UsageMeter(storage::Store& store, const base::Clock& clock)
      : spending_(store), clock_(clock), holder_(base::Uuid::make(clock.wall())) {}

  void add(const std::string& tenant, const std::string& key_id, std::int64_t requests,
           const schemas::Charge& charge);
  // This process in reservations. While it has any, `flush` renews them.
  const base::Uuid& holder() const { return holder_; }
  void add_reservation();
  // Ends a reservation. While the store refuses that, `flush` repeats it.
  void settle(const base::Uuid& reservation, const schemas::Charge& used);

  // Never blocks. What the store refuses is kept for the next call.
  void flush();

 private:
  void write_sums();

  using Owner = std::pair<std::string, std::string>;  // tenant, key id
  struct Sum {
    std::int64_t requests = 0;
    schemas::Charge charge{};
  };
  storage::Spending spending_;
  const base::Clock& clock_;
  const base::Uuid holder_;
  // Completions of the store may come after this object's end.
  struct State {
    std::mutex mutex;
    std::map<Owner, Sum> sums;
    std::size_t writes = 0;  // of sums, in progress
    std::vector<std::pair<base::Uuid, schemas::Charge>> unsettled;
    int reservations = 0;

    void add(const Owner& owner, const Sum& sum);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  base::BootTime renewed_at_{};
};

}  // namespace millrace::api
