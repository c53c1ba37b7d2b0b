#pragma once
#include <optional>

#include "api/admission/auth.h"
#include "api/admission/byte_budget.h"
#include "api/admission/http_metrics.h"
#include "api/admission/request_rate.h"
#include "api/call.h"
#include "api/context.h"
#include "api/front/exchange.h"
#include "api/routing/router.h"

namespace millrace::api {

// The barrier around every handler. `admit` decides on the head, before a byte of the body is read; `run`
// puts the handler on its lane and catches what it throws. Each check is a function of its own; the guard is
// their order (docs/design/http-contract.md §0).
class Guard {
 public:
  struct Parts {
    Auth& auth;
    HttpMetrics& metrics;
    ByteBudget& budget;
    ByteBudget& unauthenticated_budget;  // of bodies whose key is not known yet
    RequestRate& rate;
  };
  // Everything outlives it.
  Guard(Context& context, const Router& router, Parts with)
      : context_(context), router_(router), with_(with) {}

  front::Admission admit(const front::Head& head);
  void run(front::Request request, front::Responder responder);

 private:
  using Refusal = std::optional<base::Error>;

  // In this order. Those from `scope` on need the key: they wait until one that is not in memory was looked
  // up.
  Refusal route(const front::Head& head, Call& call);
  Refusal authenticate(const front::Head& head, Call& call);
  Refusal drain(Call& call);
  Refusal scope(Call& call);
  Refusal rate(Call& call);
  Refusal place(const front::Head& head, Call& call);
  Refusal content_type(const front::Head& head, Call& call);
  Refusal size(const front::Head& head, Call& call);
  Refusal bytes(const front::Head& head, Call& call);
  Refusal check(const front::Head& head, Call& call);
  Refusal check_with_key(const front::Head& head, Call& call);

  void admit_unauthenticated(const front::Head& head, Call& call);
  void open_upload(const front::Head& head, Call& call);
  void look_ahead(const front::Head& head, const Call& call);
  front::Reply refused(const front::Head& head, const base::Error& error) const;
  void look_up_key(const CallPtr& call);
  void dispatch(const CallPtr& call);
  void invoke(const CallPtr& call);

  Context& context_;
  const Router& router_;
  const Parts with_;
};

}  // namespace millrace::api
