#include "ai/inference/chat/fallback_executor.h"

#include <algorithm>
#include <utility>

#include "ai/inference/chat/target_request.h"
#include "ai/inference/routing/routing.h"
#include "ai/providers/call.h"
#include "ai/providers/mock/mock.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "platform/net/http/http_task.h"
#include "schemas/json/json_tree.h"

namespace millrace::inference {
namespace {

using base::Code;
using schemas::ChatReply;
using schemas::ChatRequest;

constexpr std::size_t kChatIdBytes = 12;

}  // namespace

FallbackExecutor::FallbackExecutor(ChatShared& shared, RegistryPtr registry,
                                   std::vector<TargetCandidate> targets, Options options,
                                   AttemptCallbacks callbacks, net::Cancel& cancel)
    : shared_(shared),
      registry_(std::move(registry)),
      targets_(std::move(targets)),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      cancel_(cancel),
      filled_state_(shared.reasoning_state) {
  head_.attempts = 0;
  head_.id = "chatcmpl-" + base::hex(base::random_bytes(kChatIdBytes));
}

std::optional<double> FallbackExecutor::cost_usd() const {
  return priced_ && answered_ ? std::optional<double>(cost_) : std::nullopt;
}

std::int64_t FallbackExecutor::prompt_tokens(const TargetCall& target_call) {
  return target_call.prompt_tokens ? *target_call.prompt_tokens : estimated_prompt(target_call.request);
}

schemas::Charge FallbackExecutor::charged() const {
  schemas::Charge charged = charges_.total();
  for (const TargetCall* each : uncharged_) charged.tokens += prompt_tokens(*each) + each->received_tokens;
  return charged;
}

void FallbackExecutor::resume() {
  for (const auto& call : std::set(calls_)) call->resume();
}

net::Task<ReplyOrError> FallbackExecutor::request_reply(ChatRequest& request) {
  begun_ = false;
  answers_.clear();
  large_ = schemas::tree_bytes(request.body) > kSmallJson;
  if (!conversation_ && large_) {
    net::Task<void> read = run_on_pool(true, [&] { conversation_.emplace(request); });
    co_await read;
  }
  if (!conversation_) conversation_.emplace(request);
  AttemptErrors refusals;
  for (std::size_t i = first_; i < targets_.size(); ++i) {
    const int attempts = head_.attempts;
    ReplyOrError reply = co_await request_target(targets_[i], request);
    if (reply) first_ = i;
    if (reply || begun_ || cancel_.requested() || !may_succeed_elsewhere(reply.error().code)) co_return reply;
    refusals.add(std::move(reply.error()), head_.attempts > attempts);
  }
  co_return std::move(refusals).take_error();
}

net::Task<ReplyOrError> FallbackExecutor::request_target(const TargetCandidate& candidate,
                                                         ChatRequest& request) {
  const providers::Preset& preset = *candidate.row->target.preset;
  if (preset.family != providers::Family::kOpenai) schemas::form_body(request);
  filled_state_.fill(request, *conversation_, preset.name);
  if (request.cap_output) {
    drop_unbounded(*candidate.row, request);
    cap_output(candidate.row->target, request);
  }
  if (fans_out(candidate.row->target, request)) co_return co_await call_many(candidate, request);
  TargetCall target_call{
      .candidate = candidate, .request = request, .index = std::nullopt, .cancel = cancel_};
  co_return co_await run_target_call(target_call);
}

void FallbackExecutor::cap_output(const providers::Target& target, ChatRequest& request) const {
  const std::int64_t cap = output_cap(target, options_.requested_output);
  if (requested_output(request) == cap) return;
  schemas::form_body(request);
  request.body["max_completion_tokens"] = cap;
}

net::Task<ReplyOrError> FallbackExecutor::call_many(const TargetCandidate& candidate,
                                                    const ChatRequest& request) {
  net::Cancel shared_cancel;
  const int listener = cancel_.listen([&shared_cancel] { shared_cancel.request(); });
  std::vector<std::optional<ReplyOrError>> replies(static_cast<std::size_t>(request.n));
  std::vector<net::Task<void>> tasks;
  tasks.reserve(replies.size());
  for (int i = 0; i < request.n; ++i)
    tasks.push_back(call_one_of(candidate, request, i, shared_cancel, replies[static_cast<std::size_t>(i)]));
  net::Task<void> wait = net::all(std::move(tasks), kFanOut);
  co_await wait;
  cancel_.remove_listener(listener);
  co_return joined(replies);
}

// The first call that fails cancels the others.
net::Task<void> FallbackExecutor::call_one_of(const TargetCandidate& candidate, const ChatRequest& request,
                                              int index, net::Cancel& cancel,
                                              std::optional<ReplyOrError>& out) {
  TargetCall target_call{.candidate = candidate, .request = request, .index = index, .cancel = cancel};
  out = co_await run_target_call(target_call);
  if (!*out) cancel.request();
}

net::Task<FallbackExecutor::EarlyReply> FallbackExecutor::enter(TargetCall& target_call) {
  const ModelLimits limits = target_call.candidate.row->limits;
  if (limits.tokens_per_minute > 0)
    target_call.tokens = expected_tokens(target_call.request, target_call.candidate.row->target);
  base::Status entered;
  if (options_.deferred) {
    net::Task<base::Status> wait = target_call.candidate.state->limiter.wait(
        limits, {options_.tenant, target_call.tokens}, options_.priority, target_call.cancel);
    entered = co_await wait;
  } else {
    entered = target_call.candidate.state->limiter.enter(limits, {options_.tenant, target_call.tokens},
                                                         target_call.candidate.model->name);
  }
  if (!entered) co_return entered.error();
  co_return std::nullopt;
}

net::Task<ReplyOrError> FallbackExecutor::run_target_call(TargetCall& target_call) {
  EarlyReply refused = co_await enter(target_call);
  if (refused) co_return std::move(*refused);
  target_call.began = Clock::now();
  ReplyOrError reply = co_await try_target_call(target_call);
  if (reply) charge_usage(target_call, *reply);
  if (reply && target_call.turn && target_call.turn->is_paused()) {
    net::Task<void> rest = continue_turn(target_call, reply);
    co_await rest;
  }
  if (reply) {
    process_reply(target_call.candidate.row->target, reply,
                  [&] { target_call.reasoning_state.receive(*reply); });
  }
  if (reply) {
    answers_.emplace_back(target_call.candidate.row->target.preset->name,
                          std::move(target_call.reasoning_state));
  }
  target_call.candidate.state->limiter.leave(options_.tenant);
  co_return reply;
}

void FallbackExecutor::remember_reasoning() {
  for (const auto& [provider, answer] : std::exchange(answers_, {}))
    answer.remember(shared_.reasoning_state, *conversation_, options_.tenant, provider);
}

// The turn goes on with the same target, which alone can read its state. Each call is charged.
net::Task<void> FallbackExecutor::continue_turn(TargetCall& first, ReplyOrError& reply) {
  const providers::Target& target = first.candidate.row->target;
  const std::shared_ptr<PausedTurn> turn = first.turn;
  ChatRequest request;
  net::Task<void> copy = run_on_pool(large_, [&] { request = first.request; });
  co_await copy;
  std::unique_ptr<schemas::ChatAssembly> collected = std::move(first.collected);
  for (int number = 1; number < kTurnCallsMax && turn->is_paused(); ++number) {
    process_reply(target, reply, [&] { schemas::append_turn(request, turn->next_part(), {}); });
    if (!reply) co_return;
    TargetCall next{
        .candidate = first.candidate, .request = request, .index = first.index, .cancel = first.cancel};
    next.turn = turn;
    next.collected = std::move(collected);
    next.earlier_reasoning = std::move(first.reasoning_state);
    next.candidate.state->limiter.charge(next.candidate.row->limits, 1, {options_.tenant}, pacing());
    ReplyOrError part = co_await try_target_call(next);
    if (!part) {
      reply = std::move(part);
      co_return;
    }
    charge_usage(next, *part);
    process_reply(target, reply, [&] { add_part(*reply, std::move(*part)); });
    if (!reply) co_return;
    collected = std::move(next.collected);
    first.reasoning_state = std::move(next.reasoning_state);
  }
  if (!turn->is_paused() || !options_.stream) co_return;
  schemas::ChatPiece end;
  end.index = first.index.value_or(0);
  end.finish_reason = "length";
  process_reply(target, reply, [&] { callbacks_.on_piece(std::move(end)); });
}

// If the breaker has opened after a failed call, returns that call's error. For a job, returns the breaker's
// error: the job is queued again and costs nothing while it waits.
net::Task<ReplyOrError> FallbackExecutor::try_target_call(TargetCall& target_call) {
  std::optional<ReplyOrError> last_reply;
  for (int number = 1;; ++number) {
    target_call.sent = false;
    target_call.cost.sent_anew();
    target_call.received_tokens = 0;
    target_call.opening.clear();
    target_call.failed_usage.reset();
    target_call.reasoning_state = target_call.earlier_reasoning;
    if (target_call.turn) target_call.turn->begin_call();
    ReplyOrError reply = co_await call_once(target_call);
    if (!reply && target_call.sent && !reply.error().is_free) charge_broken_call(target_call);
    const bool is_whole = !target_call.turn || !target_call.turn->is_paused();
    if (reply && target_call.checked && is_whole) {
      net::Task<void> check = enforce_schema(target_call, reply);
      co_await check;
    }
    const bool breaker_is_open = !reply && !target_call.sent && reply.error().code == Code::kOverloaded;
    if (last_reply && breaker_is_open && !options_.deferred) co_return std::move(*last_reply);
    if (reply || !target_call.sent || target_call.begun || target_call.cancel.requested()) co_return reply;
    target_call.own_connection = reply.error().is_unanswered;
    const auto wait = retry_wait(shared_, target_call.began, reply.error(), number);
    if (!wait) co_return reply;
    const bool passed = co_await net::pause(shared_.loop, *wait, target_call.cancel);
    if (!passed) co_return net::cancelled();
    last_reply = std::move(reply);
    target_call.candidate.state->limiter.charge(target_call.candidate.row->limits, 1, {options_.tenant},
                                                pacing());
  }
}

// One attempt of a TargetCall: request, response, and what the call reveals about the target.
using schemas::ChatPiece;

base::Result<providers::WireRequest> FallbackExecutor::prepare(TargetCall& target_call) {
  if (large_) target_call.prompt_tokens = prompt_tokens(target_call);
  const providers::Target& target = target_call.candidate.row->target;
  target_call.cost.max = max_cost(*target_call.candidate.row, target_call.request);
  if (is_mock(target_call.candidate)) {
    providers::WireRequest none;
    none.dropped = dropped_by(target, target_call.request);
    return none;
  }
  base::Result<providers::WireRequest> wire = translated(target, target_call.request, options_.stream);
  if (wire) {
    schemas::DroppedParams& dropped = wire->dropped;
    dropped.insert(dropped.begin(), target_call.request.dropped.begin(), target_call.request.dropped.end());
    if (target_call.request.cap_output &&
        options_.requested_output > output_cap(target, options_.requested_output))
      dropped.push_back({"max_completion_tokens", schemas::DroppedParam::How::kClamped});
  }
  return wire;
}

// If there is only one target, holds back deferred requests, so that they stay in the job queue.
base::Error FallbackExecutor::skip_open_target(const TargetCall& target_call) const {
  base::Error error = breaker_open_error(target_call.candidate);
  if (options_.deferred && targets_.size() == 1)
    target_call.candidate.state->limiter.pause_for(error.retry_after);
  return error;
}

// A separate coroutine for what happens before the wait: its frame is freed before a stream that may last
// long.
net::Task<FallbackExecutor::EarlyReply> FallbackExecutor::prepare_call(TargetCall& target_call, WirePtr& wire,
                                                                       std::optional<Breaker::Pass>& pass) {
  base::Result<providers::WireRequest> written = net::work_failed();
  if (large_) {
    net::Task<void> write = run_on_pool(true, [&] { written = prepare(target_call); });
    co_await write;
  } else {
    written = prepare(target_call);
  }
  if (!written) co_return written.error();
  if (const base::Status honoured = check_strict(target_call.request, written->dropped); !honoured)
    co_return honoured.error();
  pass = target_call.candidate.breaker().admit(Clock::now());
  if (!pass) co_return skip_open_target(target_call);
  net::Task<bool> permission =
      may_send(shared_.loop, callbacks_.before_sending, target_call.candidate.model->name, charges_,
               target_call.cost, target_call.cancel);
  const bool go = co_await permission;
  if (!go) {
    target_call.candidate.breaker().withdraw(*pass);
    co_return net::cancelled();
  }
  wire = std::make_unique<providers::WireRequest>(std::move(*written));
  // Money is reserved for one call.
  wire->own_connection = target_call.own_connection || target_call.request.cap_output;
  co_return std::nullopt;
}

net::Task<ReplyOrError> FallbackExecutor::call_once(TargetCall& target_call) {
  WirePtr wire;
  std::optional<Breaker::Pass> pass;
  EarlyReply refused = co_await prepare_call(target_call, wire, pass);
  if (refused) co_return std::move(*refused);
  target_call.sent = true;
  if (wire->may_pause && !target_call.turn) target_call.turn = std::make_shared<PausedTurn>();
  uncharged_.insert(&target_call);
  target_call.names = std::move(wire->names);
  if (options_.schema) target_call.checked = checked_parts(*options_.schema, *wire);
  head_.model = target_call.candidate.model->name;
  head_.dropped = wire->dropped;
  head_.reports_usage = providers::reports_usage(target_call.candidate.row->target.preset->dialect);
  ++head_.attempts;
  const auto began = Clock::now();
  net::Task<std::optional<ReplyOrError>> call = exchange(target_call, std::move(wire));
  std::optional<ReplyOrError> reply = co_await call;
  if (!reply) {
    target_call.candidate.breaker().withdraw(*pass);
    co_return net::cancelled();
  }
  if (!*reply && reply->error().is_free) {
    charges_.set_cost(target_call.cost, 0);
    uncharged_.erase(&target_call);
  }
  report_to_breaker(shared_, *registry_, target_call.candidate, *pass, *reply ? nullptr : &reply->error(),
                    Clock::now() - began);
  co_return std::move(*reply);
}

net::Task<std::optional<ReplyOrError>> FallbackExecutor::exchange(TargetCall& target_call, WirePtr wire) {
  std::shared_ptr<providers::Call> call;
  const auto begin = [&](std::function<void(ReplyOrError)> done) -> std::function<void()> {
    call = start(target_call, *wire, std::move(done));
    wire.reset();
    if (options_.stream) target_call.prompt_tokens = prompt_tokens(target_call);  // sent already
    calls_.insert(call);
    return [call] { call->cancel(); };
  };
  net::Cancellable<ReplyOrError> wait(shared_.loop, begin, target_call.cancel);
  std::optional<ReplyOrError> reply = co_await wait;
  calls_.erase(call);
  if (reply && !target_call.unparsed_body.empty()) {
    net::Task<void> read = read_on_pool(target_call, *reply);
    co_await read;
  }
  if (reply && *reply) complete(target_call, *reply);
  co_return reply;
}

net::Task<void> FallbackExecutor::read_on_pool(TargetCall& target_call, ReplyOrError& reply) {
  const std::string body = std::exchange(target_call.unparsed_body, {});
  const providers::Target& target = target_call.candidate.row->target;
  reply = net::work_failed();
  net::Task<void> read = run_on_pool(true, [&] {
    const auto translate = [&] {
      return providers::translation(target.preset->family).chat_reply(target, body);
    };
    reply = providers::read_safely(target, translate);
    if (!reply) target_call.failed_usage = providers::rejected_usage(target, body);
  });
  co_await read;
}

net::Task<void> FallbackExecutor::run_on_pool(bool is_large, std::function<void()> work) {
  return net::run_on_pool(shared_.loop, shared_.pool, is_large, std::move(work));
}

// An answer that breaks the schema is still paid for.
net::Task<void> FallbackExecutor::enforce_schema(TargetCall& target_call, ReplyOrError& reply) {
  ChatReply streamed;
  process_reply(target_call.candidate.row->target, reply, [&] {
    if (target_call.collected) streamed = target_call.collected->take();
  });
  if (!reply) co_return;
  const bool is_part = target_call.turn && target_call.turn->is_continued();
  const ChatReply& answer = options_.stream || is_part ? streamed : *reply;
  base::Status fits = net::work_failed();
  net::Task<void> check = run_on_pool(options_.schema->steps(checked_bytes(answer)) > kSmallJson,
                                      [&] { fits = options_.schema->check(answer, target_call.checked); });
  co_await check;
  target_call.collected_bytes = 0;
  if (fits) co_return;
  charge_usage(target_call, *reply);
  reply = std::move(fits.error());
  reply.error().is_permanent = is_part;  // the earlier parts cannot be repeated
}

std::shared_ptr<providers::Call> FallbackExecutor::start(TargetCall& target_call,
                                                         providers::WireRequest& wire,
                                                         std::function<void(ReplyOrError)> done) {
  providers::CallHandlers handlers;
  handlers.on_pieces = [this, &target_call](std::vector<ChatPiece>&& pieces) {
    for (ChatPiece& piece : pieces) receive(target_call, std::move(piece));
    if (target_call.begun) callbacks_.on_pause();
  };
  handlers.is_ready = callbacks_.is_ready;
  handlers.on_unparsed = [&target_call, done](std::string body) {
    target_call.unparsed_body = std::move(body);
    done(ChatReply());
  };
  handlers.on_failed_usage = [&target_call](auto usage) { target_call.failed_usage = std::move(usage); };
  handlers.on_done = std::move(done);
  const providers::Target& target = target_call.candidate.row->target;
  if (is_mock(target_call.candidate))
    return providers::start_mock_chat(shared_.loop, target, target_call.request, options_.stream,
                                      std::move(handlers));
  std::shared_ptr<const providers::Target> target_owner(target_call.candidate.model, &target);
  return providers::start_chat(shared_.loop, shared_.client, std::move(target_owner), std::move(wire),
                               options_.stream, {}, std::move(handlers));
}

// What is done to every reply after its end. If this fails, the call has used what the reply reports.
void FallbackExecutor::complete(TargetCall& target_call, ReplyOrError& reply) {
  const auto usage = reply->usage;
  process_reply(target_call.candidate.row->target, reply, [&] {
    target_call.names.restore(*reply);
    for (ChatPiece& piece : target_call.names.take_held()) receive(target_call, std::move(piece));
    if (!target_call.turn) return end_paused(*reply);
    if (!options_.stream) take_part(target_call, *reply);
  });
  if (reply) return;
  target_call.failed_usage = std::make_unique<providers::FailedUsage>();
  target_call.failed_usage->reported = usage;
}

// Many upstreams begin with a piece that has only the role. Until there is content, another call may still
// answer the request.
void FallbackExecutor::receive(TargetCall& target_call, ChatPiece&& piece) {
  if (!target_call.begun && is_blank(piece)) return target_call.opening.push_back(std::move(piece));
  const bool is_first = !std::exchange(target_call.begun, true);
  begun_ = true;
  for (ChatPiece& each : std::exchange(target_call.opening, {})) deliver(target_call, std::move(each));
  deliver(target_call, std::move(piece));
  if (!is_first) return;
  if (!target_call.index && !target_call.turn && callbacks_.on_begun) callbacks_.on_begun(large_);
}

void FallbackExecutor::deliver(TargetCall& target_call, ChatPiece&& piece) {
  target_call.names.restore(piece);
  target_call.received_tokens += estimated_completion(piece);
  if (!target_call.turn) end_paused(piece);
  if (target_call.turn && !target_call.turn->take(piece)) return;
  target_call.reasoning_state.receive(piece);
  if (target_call.checked) collect(target_call, piece);
  if (target_call.index) piece.index = *target_call.index;
  callbacks_.on_piece(std::move(piece));
  if (!std::exchange(first_token_sent_, true))
    shared_.upstream_metrics.first_token(*registry_, target_call.candidate.model->name,
                                         std::chrono::duration<double>(Clock::now() - began_).count());
}

// Of a whole reply. The parts of a turn are checked together.
void FallbackExecutor::take_part(TargetCall& target_call, ChatReply& reply) {
  PausedTurn& turn = *target_call.turn;
  const ChatPiece part = turn.take(reply);
  if (target_call.checked && (turn.is_paused() || turn.is_continued())) collect(target_call, part);
}

// Keeps only as much as is checked. A longer answer fails the check by its length.
void FallbackExecutor::collect(TargetCall& target_call, const ChatPiece& piece) {
  if (target_call.collected_bytes > kDocumentBytesMax) return;
  target_call.collected_bytes += checked_bytes(piece);
  if (!target_call.collected) target_call.collected = std::make_unique<schemas::ChatAssembly>();
  target_call.collected->add(piece);
}

void FallbackExecutor::charge_usage(TargetCall& target_call, ChatReply& reply) {
  if (!reply.usage) {
    const std::int64_t completion =
        options_.stream ? target_call.received_tokens : estimated_completion(reply);
    reply.usage = estimated_usage(prompt_tokens(target_call), completion);
  }
  answered_ = true;
  uncharged_.erase(&target_call);
  charges_.add_tokens(reply.usage->total);
  const auto paid =
      inference::charge_usage(shared_, *registry_, target_call.candidate, *reply.usage,
                              {options_.tenant, std::exchange(target_call.tokens, 0), pacing()});
  priced_ = priced_ && paid.has_value();
  cost_ += paid.value_or(0);
  if (const auto cost = certain_cost(target_call.candidate.row->price, *reply.usage))
    charges_.set_cost(target_call.cost, *cost);
}

// A call that failed, broke off or was cancelled is paid for, whole or streamed.
void FallbackExecutor::charge_broken_call(TargetCall& target_call) {
  const providers::FailedUsage known =
      target_call.failed_usage ? *target_call.failed_usage : providers::FailedUsage();
  const std::int64_t received = target_call.received_tokens + known.content_tokens;
  ChatReply none;
  none.usage =
      failed_usage(known.reported, estimated_usage(prompt_tokens(target_call), received), options_.stream);
  charge_usage(target_call, none);
}

}  // namespace millrace::inference
