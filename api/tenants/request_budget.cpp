#include "api/tenants/request_budget.h"

#include <algorithm>
#include <utility>

#include "api/tenants/usage_meter.h"
#include "storage/tenants/quota_ledger.h"
#include "storage/tenants/spending.h"

namespace millrace::api {

RequestBudget::~RequestBudget() { settle({.cost = allowed_ ? reserved_ : 0}); }

void RequestBudget::reserve(const inference::CostBound& bound, Decided then) {
  if (!is_limited()) return then({});
  if (!bound.unpriced.empty()) return then(storage::no_price_error(bound.unpriced));
  waits_ = true;
  reserved_ = bound.max;
  storage::Spending spending(context_.store);
  reservation_ = spending.reserve({.tenant = principal_->tenant,
                                   .key_id = principal_->key_id,
                                   .cost_max = bound.max,
                                   .holder = context_.usage.holder()},
                                  [self = shared_from_this(), then = std::move(then), &loop = context_.loop](
                                      const base::Result<std::optional<base::Uuid>>& made) {
                                    loop.post([self, then, made] {
                                      if (self->used_) return;
                                      self->waits_ = false;
                                      self->reservation_ = made ? *made : std::nullopt;
                                      if (self->reservation_) self->context_.usage.add_reservation();
                                      then(made ? base::Status() : base::Status(made.error()));
                                    });
                                  });
}

void RequestBudget::allow(const inference::CallCost& cost, Decided go) {
  if (used_) return go(base::error(base::Code::kJobCancelled, "the request has ended"));
  if (!reservation_) return go({});
  if (!cost.max) return go(storage::no_price_error(cost.model));
  allowed_ = true;
  const schemas::NanoUsd more = cost.run_max - reserved_;
  if (more <= 0) return go({});
  reserved_ += more;
  storage::Spending(context_.store)
      .extend(*reservation_, more,
              [self = shared_from_this(), go = std::move(go)](const base::Result<bool>& done) {
                self->context_.loop.post(
                    [self, go, done] { go(done ? base::Status() : base::Status(done.error())); });
              });
}

void RequestBudget::settle(const schemas::Charge& used) {
  if (used_) return;
  used_ = used;
  if (!reservation_) return context_.usage.add(principal_->tenant, principal_->key_id, 0, used);
  if (waits_) context_.usage.add_reservation();
  context_.usage.settle(*reservation_, used);
}

}  // namespace millrace::api
