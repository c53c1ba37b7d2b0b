#pragma once
#include <chrono>
#include <memory>
#include <optional>

#include "ai/inference/chat/chat_shared.h"
#include "ai/inference/routing/charges.h"
#include "ai/inference/routing/price.h"
#include "platform/net/http/http_task.h"

// Shared by all calls to upstreams, for chats and media: when to retry, and what a call reveals about a
// target. Loop thread only.
namespace millrace::inference {

// One target in the order in which a request tries them.
struct TargetCandidate {
  ModelPtr model;
  const ModelRow* row;  // in *model
  TargetStatePtr state;
  Work work = Work::kChat;

  Breaker& breaker() const { return state->breaker(work); }
};

bool is_mock(const TargetCandidate& candidate);

// True if another target may succeed after this error.
bool may_succeed_elsewhere(base::Code code);
// How long to wait before the next call of this target; nullopt: no retry. `number`: the number of the failed
// call, from 1. `began`: when the limits admitted the request. After an error with `is_unanswered` the next
// call is made at once, even if no try is left. It needs a connection of its own, so that there is only one.
std::optional<std::chrono::milliseconds> retry_wait(ChatShared& shared,
                                                    std::chrono::steady_clock::time_point began,
                                                    const base::Error& error, int number);

// Collects the errors of targets that were tried one after the other. Small, because every waiting request
// has one.
class AttemptErrors {
 public:
  // `was_sent`: the error came from an upstream; otherwise the upstream was not called.
  void add(base::Error error, bool was_sent);
  // The error to report: the last error from an upstream, or the last error if no upstream was called.
  // But if that error is permanent and another one was temporary (also: no credit), it is the last temporary
  // one. REQUIRES: `add`.
  base::Error take_error() &&;

 private:
  std::unique_ptr<base::Error> reported_, retryable_;
  bool of_upstream_ = false;
};

// The error if the breaker is open and the target is not called.
base::Error breaker_open_error(const TargetCandidate& candidate);
// Records the end of a call that had `pass`: success (null) or `error`.
void report_to_breaker(ChatShared& shared, const Registry& registry, const TargetCandidate& candidate,
                       Breaker::Pass pass, const base::Error* error,
                       std::chrono::steady_clock::duration took);
// Whose call was charged to the limits, with how many tokens, and the pacing of the charge.
struct Charged {
  const std::string& tenant;
  std::int64_t tokens;
  RateLimiter::Pacing pacing;
};
// Records the usage of an answer. Returns its cost, if the model has a price.
std::optional<double> charge_usage(ChatShared& shared, const Registry& registry,
                                   const TargetCandidate& candidate, const schemas::ChatUsage& usage,
                                   const Charged& charged, const Units& units = {});

// Asks whether a call may be sent, and waits for the answer. If so, its maximum is included in `charges`
// as soon as `ask` is answered.
// `ask` may be null: every call may be sent.
net::Task<bool> may_send(net::Loop& loop, const BeforeSending& ask, const std::string& model,
                         Charges& charges, Charges::Call& call, net::Cancel& cancel);

}  // namespace millrace::inference
