#pragma once
#include <atomic>
#include <optional>

#include "api/auth.h"
#include "api/byte_budget.h"
#include "api/call.h"
#include "api/context.h"
#include "api/front/exchange.h"
#include "api/http_metrics.h"
#include "api/router.h"

namespace millrace::api {

// The barrier around every handler. `admit` decides on the head, before a byte of the body is read; `run`
// puts the handler on its lane and catches what it throws. Each check is a function of its own; the guard is
// their order (contract.md §0).
class Guard {
 public:
  Guard(Context& context, const Router& router, Auth& auth, HttpMetrics& metrics, ByteBudget& budget)
      : context_(context), router_(router), auth_(auth), metrics_(metrics), budget_(budget) {}

  front::Admission admit(const front::Head& head);
  void run(front::Request request, front::Responder responder);
  void refuse_new() { draining_ = true; }

 private:
  using Refusal = std::optional<base::Error>;

  // In this order.
  Refusal route(const front::Head& head, Call& call);
  Refusal authenticate(const front::Head& head, Call& call);
  Refusal scope(const front::Head& head, Call& call);
  Refusal content_type(const front::Head& head, Call& call);
  Refusal size(const front::Head& head, Call& call);
  Refusal bytes(const front::Head& head, Call& call);
  Refusal drain(const front::Head& head, Call& call);
  Refusal check(const front::Head& head, Call& call);

  front::Reply refused(const front::Head& head, const base::Error& error) const;
  void look_up_key(const CallPtr& call);
  void dispatch(const CallPtr& call);
  void invoke(const CallPtr& call);

  Context& context_;
  const Router& router_;
  Auth& auth_;
  HttpMetrics& metrics_;
  ByteBudget& budget_;
  std::atomic<bool> draining_{false};
};

}  // namespace millrace::api
