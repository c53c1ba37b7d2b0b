#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ai/inference/routing/price.h"
#include "api/admission/auth.h"
#include "api/context.h"
#include "platform/base/result.h"
#include "schemas/tenants/money.h"

namespace millrace::api {

// The money of one direct request. If its tenant or key has a hard budget, the most that its first call may
// cost is reserved before it is sent, and each further call extends that. What was used is settled at the
// end. Loop thread only. An object that is destroyed without `settle` is charged with all it reserved if a
// call was allowed.
class RequestBudget : public std::enable_shared_from_this<RequestBudget> {
 public:
  using Decided = std::function<void(const base::Status&)>;

  RequestBudget(Context& context, PrincipalPtr principal)
      : context_(context), principal_(std::move(principal)) {}
  ~RequestBudget();
  RequestBudget(const RequestBudget&) = delete;
  RequestBudget& operator=(const RequestBudget&) = delete;

  // True: `reserve` has to wait for the store, and the request must send a limit of its answer (cap_output).
  bool is_limited() const { return principal_->has_hard_budget(); }
  // `then` runs on the loop; at once if there is no budget. kBudgetExceeded: the budget does not allow it, or
  // a model of the request has no price. kOverloaded: the store refuses writes. It does not run after
  // `settle`.
  void reserve(const inference::CostBound& bound, Decided then);
  // Before an upstream call: `go` runs at once if the reservation covers it.
  void allow(const inference::CallCost& cost, Decided go);
  // The request has ended; `used` is what its calls are charged with. Later calls do nothing.
  void settle(const schemas::Charge& used);

 private:
  Context& context_;
  const PrincipalPtr principal_;
  std::optional<base::Uuid> reservation_;
  schemas::NanoUsd reserved_ = 0;
  bool waits_ = false;    // for the answer to `reserve`
  bool allowed_ = false;  // a call
  std::optional<schemas::Charge> used_;
};

}  // namespace millrace::api
