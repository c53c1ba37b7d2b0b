#include "ai/inference/routing/attempts.h"

#include <algorithm>
#include <utility>

namespace millrace::inference {
namespace {

using base::Code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kProbeRetryAfter{1'000};  // retry_after while another call is the probe
// How long waiting calls hold back from an overloaded target: as long as it requests, within
// kOverloadPauseMax; kOverloadPause if it requests nothing.
constexpr milliseconds kOverloadPause{500}, kOverloadPauseMax{600'000};

bool is_retryable_here(const base::Error& error) {
  return may_succeed_elsewhere(error.code) && error.code != Code::kModelNotFound && !error.is_permanent;
}

bool is_over_quota(const base::Error& error) {
  return error.code == Code::kRateLimited || error.code == Code::kQuota;
}

// True if the target is faulty. A target that refuses or cannot do this one request is not, nor is one that
// does not honour a parameter of it: one client could cause that for all.
bool is_target_failure(const base::Error& error) {
  if (providers::is_refusal(error) || !error.param.empty()) return false;
  return error.code == Code::kUpstream || error.code == Code::kUpstreamTimeout ||
         error.code == Code::kOverloaded;
}

bool may_succeed_later(const base::Error& error) {
  return error.code == Code::kQuota || base::retry_class(error) != base::RetryClass::kPermanent;
}

}  // namespace

bool is_mock(const TargetCandidate& candidate) {
  return candidate.row->target.preset->family == providers::Family::kMock;
}

bool may_succeed_elsewhere(Code code) {
  return code == Code::kRateLimited || code == Code::kQuota || code == Code::kUpstream ||
         code == Code::kUpstreamTimeout || code == Code::kOverloaded || code == Code::kModelNotFound;
}

// Half of the pause is random, so that calls that failed together do not retry together.
std::optional<milliseconds> retry_wait(ChatShared& shared, steady_clock::time_point began,
                                       const base::Error& error, int number) {
  const ChatOptions& options = shared.options;
  if (error.is_unanswered) return milliseconds(0);
  if (number >= options.tries_max || !is_retryable_here(error)) return std::nullopt;
  if (error.retry_after > options.retry_after_max) return std::nullopt;
  const milliseconds most = std::min(options.retry_cap, options.retry_base * (1 << std::min(number - 1, 16)));
  const milliseconds jittered(
      static_cast<std::int64_t>(static_cast<double>(most.count()) * (0.5 + shared.random_fraction() / 2)));
  const milliseconds wait = error.retry_after + jittered;
  if (steady_clock::now() + wait > began + options.retry_window) return std::nullopt;
  return wait;
}

void AttemptErrors::add(base::Error error, bool was_sent) {
  if (may_succeed_later(error)) retryable_ = std::make_unique<base::Error>(error);
  if (was_sent || !of_upstream_) reported_ = std::make_unique<base::Error>(std::move(error));
  of_upstream_ = of_upstream_ || was_sent;
}

base::Error AttemptErrors::take_error() && {
  return std::move(retryable_ && !may_succeed_later(*reported_) ? *retryable_ : *reported_);
}

base::Error breaker_open_error(const TargetCandidate& candidate) {
  base::Error error = base::error(Code::kOverloaded, "model '" + candidate.model->name +
                                                         "' has failed several times in a row and is "
                                                         "not called for a while; retry later");
  const milliseconds time_left = candidate.breaker().time_to_probe(steady_clock::now());
  error.retry_after = time_left.count() > 0 ? time_left : kProbeRetryAfter;
  return error;
}

void report_to_breaker(ChatShared& shared, const Registry& registry, const TargetCandidate& candidate,
                       Breaker::Pass pass, const base::Error* error, steady_clock::duration took) {
  TargetState& state = *candidate.state;
  const std::string& name = candidate.model->name;
  if (error == nullptr) {
    const auto ms = std::chrono::ceil<milliseconds>(took).count();
    const auto before = state.latency_ms.load();
    state.latency_ms = before == 0 ? ms : (before * 4 + ms) / 5;
    shared.upstream_metrics.called(registry, name, std::chrono::duration<double>(took).count());
  } else {
    shared.upstream_metrics.failed(registry, name, error->code);
  }
  if (error != nullptr && (is_over_quota(*error) || error->is_content_fault || error->is_unanswered)) {
    candidate.breaker().withdraw(pass);
  } else {
    candidate.breaker().report(pass, error == nullptr || !is_target_failure(*error), steady_clock::now());
  }
  const bool is_too_large = error != nullptr && error->code == Code::kRateLimited && error->is_permanent;
  if (error != nullptr && is_over_quota(*error) && !is_too_large) {
    state.limiter.pause_for(error->retry_after.count() > 0 ? std::min(error->retry_after, kOverloadPauseMax)
                                                           : kOverloadPause);
  }
  shared.upstream_metrics.breaker(registry, name, state.breaker_state(steady_clock::now()));
}

std::optional<double> charge_usage(ChatShared& shared, const Registry& registry,
                                   const TargetCandidate& candidate, const schemas::ChatUsage& usage,
                                   const Charged& charged, const Units& units) {
  const ModelRow& row = *candidate.row;
  candidate.state->limiter.charge(row.limits, 0, {charged.tenant, usage.total - charged.tokens},
                                  charged.pacing);
  shared.upstream_metrics.used(registry, candidate.model->name, usage);
  if (!row.price) return std::nullopt;
  const double paid = cost_of(*row.price, usage, units);
  shared.upstream_metrics.paid(registry, candidate.model->name, paid);
  return paid;
}

// Nearly all sinks call `go` at once; then there is no wait. The maximum counts as soon as `go` is called:
// the sink may cancel the run and read its charges before this coroutine continues.
net::Task<bool> may_send(net::Loop& loop, const BeforeSending& ask, const std::string& model,
                         Charges& charges, Charges::Call& call, net::Cancel& cancel) {
  struct Decision {
    std::function<void(bool)> count;  // null: this coroutine has ended
    std::optional<bool> at_once;
    std::function<void(bool)> later;
  };
  if (cancel.requested()) co_return false;
  charges.ask(call);
  if (!ask) {
    charges.answer(call, true);
    co_return true;
  }
  const auto decision = std::make_shared<Decision>();
  decision->count = [&](bool goes) { charges.answer(call, goes); };
  ask(CallCost{model, call.max, charges.run_max()}, [decision](bool go) {
    if (decision->count) decision->count(go);
    if (decision->later) return decision->later(go);
    decision->at_once = go;
  });
  std::optional<bool> go = decision->at_once;
  if (!go) {
    net::StartCall<bool> begin = [decision](std::function<void(bool)> done) -> std::function<void()> {
      decision->later = std::move(done);
      return {};
    };
    net::Task<std::optional<bool>> wait = net::cancellable<bool>(loop, std::move(begin), cancel);
    go = co_await wait;
  }
  decision->count = nullptr;
  charges.answer(call, false);  // if it was not answered
  const bool goes = go.value_or(false);
  if (!goes) charges.set_cost(call, 0);
  co_return goes;
}

}  // namespace millrace::inference
