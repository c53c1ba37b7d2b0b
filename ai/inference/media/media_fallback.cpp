#include "ai/inference/media/media_fallback.h"

#include <utility>

#include "ai/inference/routing/routing.h"
#include "ai/providers/media_call.h"
#include "platform/net/http/http_task.h"

namespace millrace::inference {
namespace {

using base::Code;

}  // namespace

schemas::Charge MediaFallbackExecutor::charged() const {
  schemas::Charge charged = charges_.total();
  for (const Part* each : uncharged_) charged.tokens += media_request_.tokens(each->number);
  return charged;
}

void MediaFallbackExecutor::resume() {
  for (const auto& call : std::set(calls_)) call->resume();
}

net::Task<base::Status> MediaFallbackExecutor::run() {
  AttemptErrors refusals;
  for (const TargetCandidate& candidate : targets_) {
    const int attempts = head_.attempts;
    net::Task<base::Status> wait = request_target(candidate);
    base::Status status = co_await wait;
    const bool over = status || media_request_.has_begun() || cancel_.requested();
    if (over || !may_succeed_elsewhere(status.error().code)) co_return status;
    refusals.add(std::move(status.error()), head_.attempts > attempts);
  }
  co_return std::move(refusals).take_error();
}

// One target must answer all parts, because answers of different targets do not fit together.
net::Task<base::Status> MediaFallbackExecutor::request_target(const TargetCandidate& candidate) {
  net::Cancel together;
  const int listener = cancel_.listen([&together] { together.request(); });
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<net::Task<void>> tasks;
  const std::size_t count = media_request_.begin(candidate.row->target);
  for (std::size_t i = 0; i < count; ++i) {
    parts.push_back(std::unique_ptr<Part>(new Part{candidate, i, together}));
    tasks.push_back(request_part(*parts.back()));
  }
  net::Task<void> wait = net::all(std::move(tasks), kCallsAtOnce);
  co_await wait;
  cancel_.remove_listener(listener);
  base::Status status;
  for (const auto& part : parts) {
    const bool explains = !part->status && (status || status.error().code == Code::kJobCancelled);
    if (explains) status = part->status;
  }
  co_return status;
}

// The first part that fails cancels the others.
net::Task<void> MediaFallbackExecutor::request_part(Part& part) {
  if (part.cancel.requested()) {
    part.status = net::cancelled();
    co_return;
  }
  TargetLimiter& limiter = part.candidate.state->limiter;
  part.tokens = media_request_.tokens(part.number);
  part.status = limiter.enter(part.candidate.row->limits, {tenant_, part.tokens}, part.candidate.model->name);
  if (part.status) {
    part.began = Clock::now();
    net::Task<base::Status> wait = try_part(part);
    part.status = co_await wait;
    limiter.leave(tenant_);
  }
  if (!part.status) part.cancel.request();
}

net::Task<base::Status> MediaFallbackExecutor::try_part(Part& part) {
  base::Status
      last_status;  // error of an earlier call; a breaker that opens meanwhile replaces it only for jobs
  const bool of_job = media_request_.work() == Work::kOcr || media_request_.work() == Work::kTranscription;
  for (int number = 1;; ++number) {
    part.sent = false;
    part.cost.sent_anew();
    net::Task<base::Status> call = call_once(part);
    base::Status status = co_await call;
    const bool breaker_is_open = !status && !part.sent && status.error().code == Code::kOverloaded;
    if (!last_status && breaker_is_open && !of_job) co_return last_status;
    if (status || !part.sent || media_request_.has_begun() || part.cancel.requested()) co_return status;
    part.own_connection = status.error().is_unanswered;
    const auto wait = retry_wait(shared_, part.began, status.error(), number);
    if (!wait) co_return status;
    net::Task<bool> pause = net::pause(shared_.loop, *wait, part.cancel);
    const bool passed = co_await pause;
    if (!passed) co_return net::cancelled();
    last_status = std::move(status);
    part.candidate.state->limiter.charge(part.candidate.row->limits, 1, {tenant_},
                                         RateLimiter::Pacing::kAtOnce);
  }
}

net::Task<base::Status> MediaFallbackExecutor::call_once(Part& part) {
  const providers::Target& target = part.candidate.row->target;
  base::Result<providers::WireRequest> wire = providers::WireRequest();
  if (!is_mock(part.candidate)) {
    wire = net::work_failed();
    net::Task<void> write = run_on_pool([&] { wire = media_request_.write(target, part.number); });
    co_await write;
  }
  if (!wire) co_return wire.error();
  if (const base::Status honoured = check_strict(media_request_.strict(), wire->dropped); !honoured)
    co_return honoured;
  const Use most = media_request_.most(target, part.number);
  part.cost.max = max_cost(*part.candidate.row, most.usage, most.units);
  const auto pass = part.candidate.breaker().admit(Clock::now());
  if (!pass) co_return breaker_open_error(part.candidate);
  net::Task<bool> ask =
      may_send(shared_.loop, before_sending_, part.candidate.model->name, charges_, part.cost, part.cancel);
  const bool go = co_await ask;
  if (!go) {
    part.candidate.breaker().withdraw(*pass);
    co_return net::cancelled();
  }
  wire->own_connection = part.own_connection || before_sending_;  // money may be reserved for one call
  part.sent = true;
  uncharged_.insert(&part);
  head_.model = part.candidate.model->name;
  head_.dropped = wire->dropped;
  ++head_.attempts;
  media_request_.on_sending(head_);
  const auto began = Clock::now();
  net::Task<base::Status> wait = answer(part, *std::move(wire));
  const base::Status status = co_await wait;
  const bool is_free = !status && status.error().is_free;
  if (is_free) charges_.set_cost(part.cost, 0);
  if (!status && !is_free) charge_broken_call(part);
  uncharged_.erase(&part);
  if (!status && status.error().code == Code::kJobCancelled) {
    part.candidate.breaker().withdraw(*pass);
    co_return status;
  }
  report_to_breaker(shared_, registry_, part.candidate, *pass, status ? nullptr : &status.error(),
                    Clock::now() - began);
  if (!status) co_return status;
  const Use used = media_request_.used(part.number);
  charge(part, used);
  if (const auto cost = certain_cost(part.candidate.row->price, used.usage, used.units))
    charges_.set_cost(part.cost, *cost);
  co_return status;
}

void MediaFallbackExecutor::charge(Part& part, const Use& used) {
  charges_.add_tokens(used.usage.total);
  const Charged charged{tenant_, std::exchange(part.tokens, 0), RateLimiter::Pacing::kAtOnce};
  const auto paid = charge_usage(shared_, registry_, part.candidate, used.usage, charged, used.units);
  priced_ = priced_ && paid.has_value();
  cost_ += paid.value_or(0);
}

// A call that failed or was cancelled is paid for, with what it reported, else with the estimated tokens of
// the request. How many units the provider charges is unknown.
void MediaFallbackExecutor::charge_broken_call(Part& part) {
  const std::unique_ptr<providers::FailedUsage> known = std::move(part.failed_usage);
  std::optional<schemas::ChatUsage> reported = known ? known->reported : std::nullopt;
  if (!reported || reported->total == 0) reported = media_request_.reported(part.number);
  const auto estimated =
      estimated_usage(media_request_.tokens(part.number), known ? known->content_tokens : 0);
  const schemas::ChatUsage usage = failed_usage(reported, estimated, media_request_.streams());
  charge(part, {.usage = usage});
  const std::optional<Price>& price = part.candidate.row->price;
  if (!price || price->by_units()) return;
  if (const auto cost = certain_cost(price, usage, {})) charges_.set_cost(part.cost, *cost);
}

net::Task<base::Status> MediaFallbackExecutor::answer(Part& part, providers::WireRequest wire) {
  const providers::Target& target = part.candidate.row->target;
  base::Status status = net::work_failed();
  if (is_mock(part.candidate)) {
    net::Task<void> work = run_on_pool([&] { status = media_request_.mock(target, part.number); });
    co_await work;
    co_return status;
  }
  net::Task<base::Result<std::string>> call = exchange(part, std::move(wire));
  base::Result<std::string> body = co_await call;
  if (!body) co_return body.error();
  net::Task<void> read = run_on_pool([&] {
    status = providers::read_safely(target, [&] { return media_request_.read(target, part.number, *body); });
    if (!status) part.failed_usage = providers::rejected_usage(target, *body);
  });
  co_await read;
  co_return status;
}

net::Task<base::Result<std::string>> MediaFallbackExecutor::exchange(Part& part,
                                                                     providers::WireRequest wire) {
  using Body = base::Result<std::string>;
  std::shared_ptr<providers::Call> call;
  net::StartCall<Body> begin = [&](std::function<void(Body)> done) -> std::function<void()> {
    call = start(part, wire, std::move(done));
    calls_.insert(call);
    return [call] { call->cancel(); };
  };
  net::Task<std::optional<Body>> wait = net::cancellable<Body>(shared_.loop, std::move(begin), part.cancel);
  std::optional<Body> body = co_await wait;
  calls_.erase(call);
  if (!body) co_return net::cancelled();
  co_return *std::move(body);
}

std::shared_ptr<providers::Call> MediaFallbackExecutor::start(
    Part& part, providers::WireRequest& wire, std::function<void(base::Result<std::string>)> done) {
  providers::MediaHandlers handlers;
  const providers::Target& target = part.candidate.row->target;
  if (media_request_.streams()) {
    handlers.on_event = [this, &target](const net::SseEvent& event) {
      return media_request_.on_event(target, event);
    };
  }
  if (media_request_.streams_audio()) {
    handlers.on_bytes = [this, &target](std::string_view bytes) {
      return media_request_.on_bytes(target, bytes);
    };
  }
  if (media_request_.streams() || media_request_.streams_audio())
    handlers.is_ready = [this] { return media_request_.is_ready(); };
  handlers.on_done = std::move(done);
  return providers::start_media(shared_.client, target, std::move(wire), {}, std::move(handlers));
}

net::Task<void> MediaFallbackExecutor::run_on_pool(std::function<void()> work) {
  return net::run_on_pool(shared_.loop, pool_, media_request_.is_large(), std::move(work));
}

}  // namespace millrace::inference
