#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "schemas/tenants/money.h"

namespace millrace::inference {

// What the upstream calls of one run are charged with (ChatRun::charged), without the tokens of calls that
// have not ended. Loop thread only.
class Charges {
 public:
  // One upstream call. A retry begins with `sent_anew`.
  struct Call {
    std::optional<schemas::NanoUsd> max = {};  // nullopt: the model has no price
    schemas::NanoUsd asked = 0;                // while it waits for permission to be sent
    schemas::NanoUsd assumed = 0;              // included in the total until the cost is known
    void sent_anew() { assumed = 0; }
  };

  schemas::Charge total() const { return {.cost = total_, .tokens = tokens_}; }
  // Includes the maximum of the calls that wait for permission: all of them may get it.
  schemas::NanoUsd run_max() const { return schemas::sum(total_, asked_); }
  void add_tokens(std::int64_t tokens) { tokens_ += tokens; }

  void ask(Call& call) {
    call.asked = call.max.value_or(0);
    asked_ = schemas::sum(asked_, call.asked);
  }
  // If it `goes`, its maximum is included from now on. Further answers have no effect.
  void answer(Call& call, bool goes) {
    const schemas::NanoUsd max = std::exchange(call.asked, 0);
    asked_ = schemas::without(asked_, max);
    if (!goes || max == 0) return;
    call.assumed = max;
    total_ = schemas::sum(total_, max);
  }
  // Its cost is known. Otherwise its maximum stays.
  void set_cost(Call& call, schemas::NanoUsd cost) {
    total_ = schemas::sum(schemas::without(total_, std::exchange(call.assumed, 0)), cost);
  }

 private:
  schemas::NanoUsd total_ = 0, asked_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace millrace::inference
