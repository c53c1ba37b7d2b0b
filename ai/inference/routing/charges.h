#pragma once
#include <optional>
#include <utility>

#include "schemas/tenants/money.h"

namespace millrace::inference {

// What the upstream calls of one run are charged with (ChatRun::charged). Loop thread only.
class Charges {
 public:
  // One upstream call. A retry begins with `sent_anew`.
  struct Call {
    std::optional<schemas::NanoUsd> max = {};  // nullopt: the model has no price
    schemas::NanoUsd assumed = 0;              // included in the total until the cost is known
    void sent_anew() { assumed = 0; }
  };

  schemas::NanoUsd total() const { return total_; }
  // Directly before it is sent: includes its maximum.
  void assume(Call& call) {
    call.assumed = call.max.value_or(0);
    total_ += call.assumed;
  }
  // Its cost is known. Otherwise its maximum stays.
  void set_cost(Call& call, schemas::NanoUsd cost) { total_ += cost - std::exchange(call.assumed, 0); }

 private:
  schemas::NanoUsd total_ = 0;
};

}  // namespace millrace::inference
