#pragma once
#include <optional>

#include "api/admission/address_shares.h"
#include "api/admission/auth.h"
#include "api/admission/byte_budget.h"
#include "api/admission/http_metrics.h"
#include "api/admission/keyed_semaphore.h"
#include "api/admission/live_calls.h"
#include "api/admission/minute_rate.h"
#include "api/call.h"
#include "api/context.h"
#include "api/front/exchange.h"
#include "api/routing/router.h"

namespace millrace::api {

// Checks every request before its handler. `admit` decides by the head, before the body is read. `run` starts
// the handler on its lane and catches its exceptions. Each check is one function; the guard defines their
// order (docs/design/http-contract.md §0).
class Guard {
 public:
  struct Dependencies {
    Auth& auth;
    HttpMetrics& metrics;
    ByteBudget& budget;
    ByteBudget& unauthenticated_budget;  // for bodies of requests without a key that is in memory
    AddressShares& address_shares;       // of `unauthenticated_budget`
    MinuteRate& rate;
    LiveCalls& live_calls;
    KeyedSemaphore& request_permits;  // by tenant
  };
  // All arguments outlive it.
  Guard(Context& context, const Router& router, Dependencies with)
      : context_(context), router_(router), dependencies_(with) {}

  front::Admission admit(const front::Head& head);
  void run(front::Request request, front::Responder responder);

  // A request that the gateway makes itself, for a line of a batch.
  struct LineRequest {
    std::string path;             // of a POST
    std::string body;             // JSON
    std::string idempotency_key;  // for routes that require one
    PrincipalPtr principal;
    storage::BatchLineRef line;
  };
  struct LineReply {
    std::optional<front::Reply> reply;  // absent: it was cut off, or exceeds `bytes_max` bytes
    std::string request_id;
    std::optional<schemas::JobId> job;  // it has become this job; the reply only names it
  };
  // The request passes the checks of its route and its scope; it counts against no limit of requests per
  // minute. `done` runs once, on any thread.
  void send_line(LineRequest request, std::size_t bytes_max, std::function<void(LineReply)> done);
  // The result of a job as the reply to a request to `path`; 202: it has not ended. Blocks; `done` runs
  // before it returns.
  void send_result(const PrincipalPtr& owner, std::string path, const schemas::JobId& job,
                   std::size_t bytes_max, std::function<void(LineReply)> done);

 private:
  using OptionalError = std::optional<base::Error>;

  // The checks, in this order. `scope` and the checks after it need the key. If the key is not in memory,
  // they run in `look_up_key`, on the pool.
  OptionalError host(const front::Head& head) const;
  OptionalError route(const front::Head& head, Call& call);
  OptionalError authenticate(const front::Head& head, Call& call);
  OptionalError drain(Call& call);
  OptionalError scope(Call& call);
  OptionalError encoding(const front::Head& head, const Call& call) const;
  OptionalError idempotency(const front::Head& head, Call& call) const;
  OptionalError share(Call& call);
  OptionalError rate(Call& call);
  OptionalError content_type(const front::Head& head, Call& call);
  OptionalError size(const front::Head& head, Call& call);
  OptionalError bytes(const front::Head& head, Call& call);
  OptionalError check(const front::Head& head, Call& call);
  OptionalError check_with_key(const front::Head& head, Call& call);

  struct OwnCall {
    CallPtr call;
    OptionalError refusal;
  };
  OwnCall own_call(std::string path, std::string body, std::string key, PrincipalPtr principal,
                   std::size_t bytes_max, std::function<void(LineReply)> done);
  void admit_unauthenticated(const front::Head& head, Call& call);
  void open_unauthenticated_budget(const front::Head& head, Call& call);
  void open_upload(const front::Head& head, Call& call);
  void prefetch_key(const front::Head& head, Call& call);
  front::Reply refusal_reply(const front::Head& head, const base::Error& error) const;
  void look_up_key(const CallPtr& call);
  void dispatch(const CallPtr& call);
  static bool check_query(Call& call);
  void invoke(const CallPtr& call);

  Context& context_;
  const Router& router_;
  const Dependencies dependencies_;
};

// The most memory that the body of one request of this route takes.
std::size_t body_memory_max(const Route& route);
// kOverloaded: http.body_budget has no space for a request's body.
base::Error body_budget_exhausted();

}  // namespace millrace::api
