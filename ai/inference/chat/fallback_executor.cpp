#include "ai/inference/chat/fallback_executor.h"

#include <algorithm>
#include <utility>

#include "ai/inference/chat/run_on_pool.h"
#include "ai/inference/routing/routing.h"
#include "ai/providers/call.h"
#include "ai/providers/mock/mock.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/json/json_tree.h"

namespace millrace::inference {
namespace {

using base::Code;
using schemas::ChatReply;
using schemas::ChatRequest;

constexpr std::size_t kChatIdBytes = 12;

bool fans_out(const Step& step, const ChatRequest& request) {
  return request.n > 1 && providers::support(step.row->target, "n") == providers::Support::kEmulated;
}

ReplyOrError joined(std::vector<std::optional<ReplyOrError>>& parts) {
  for (const auto& part : parts) {
    if (!*part && part->error().code != Code::kJobCancelled) return part->error();
  }
  ChatReply whole;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!*parts[i]) return parts[i]->error();
    ChatReply& part = **parts[i];
    if (!part.choices.empty()) {
      part.choices.resize(1);
      part.choices[0].index = static_cast<int>(i);
    }
    if (i == 0) {
      whole = std::move(part);
      continue;
    }
    schemas::add(*whole.usage, *part.usage);
    std::move(part.choices.begin(), part.choices.end(), std::back_inserter(whole.choices));
  }
  return whole;
}

std::int64_t expected_tokens(const ChatRequest& request) {
  const nlohmann::json formed = request.quick.empty() ? nlohmann::json() : schemas::body_of(request.quick);
  const nlohmann::json& body = request.quick.empty() ? request.body : formed;
  const auto most = body.find("max_completion_tokens");
  const bool has_limit = most != body.end() && most->is_number_integer();
  return estimated_prompt(request) + (has_limit ? most->get<std::int64_t>() : 0);
}

}  // namespace

FallbackExecutor::FallbackExecutor(ChatShared& parts, RegistryPtr registry, std::vector<Step> steps,
                                   Manner manner, AttemptCallbacks callbacks, net::Cancel& cancel)
    : parts_(parts),
      registry_(std::move(registry)),
      steps_(std::move(steps)),
      manner_(std::move(manner)),
      callbacks_(std::move(callbacks)),
      cancel_(cancel) {
  head_.attempts = 0;
  head_.id = "chatcmpl-" + base::hex(base::random_bytes(kChatIdBytes));
}

std::optional<double> FallbackExecutor::cost_usd() const {
  return priced_ && answered_ ? std::optional<double>(cost_) : std::nullopt;
}

void FallbackExecutor::resume() {
  for (const auto& call : std::set(calls_)) call->resume();
}

net::Task<ReplyOrError> FallbackExecutor::request_reply(ChatRequest& request) {
  begun_ = false;
  large_ = schemas::text_bytes(request.body) > kSmallJson;
  AttemptErrors refusals;
  for (std::size_t i = first_; i < steps_.size(); ++i) {
    const int attempts = head_.attempts;
    ReplyOrError reply = co_await request_step(steps_[i], request);
    if (reply) first_ = i;
    if (reply || begun_ || cancel_.requested() || !may_succeed_elsewhere(reply.error().code)) co_return reply;
    refusals.add(std::move(reply.error()), head_.attempts > attempts);
  }
  co_return std::move(refusals).take_error();
}

net::Task<ReplyOrError> FallbackExecutor::request_step(const Step& step, ChatRequest& request) {
  const providers::Preset& preset = *step.row->target.preset;
  if (preset.family != providers::Family::kOpenai) schemas::form_body(request);
  parts_.continuity.fill(request, preset.name);
  if (fans_out(step, request)) co_return co_await call_many(step, request);
  Part part{.step = step, .request = request, .index = std::nullopt, .cancel = cancel_};
  co_return co_await request_part(part);
}

net::Task<ReplyOrError> FallbackExecutor::call_many(const Step& step, const ChatRequest& request) {
  net::Cancel together;
  const int listener = cancel_.listen([&together] { together.request(); });
  std::vector<std::optional<ReplyOrError>> replies(static_cast<std::size_t>(request.n));
  std::vector<net::Task<void>> tasks;
  tasks.reserve(replies.size());
  for (int i = 0; i < request.n; ++i)
    tasks.push_back(call_one_of(step, request, i, together, replies[static_cast<std::size_t>(i)]));
  net::Task<void> wait = net::all(std::move(tasks), kFanOut);
  co_await wait;
  cancel_.remove_listener(listener);
  co_return joined(replies);
}

// The first call that fails cancels the others.
net::Task<void> FallbackExecutor::call_one_of(const Step& step, const ChatRequest& request, int index,
                                              net::Cancel& cancel, std::optional<ReplyOrError>& out) {
  Part part{.step = step, .request = request, .index = index, .cancel = cancel};
  out = co_await request_part(part);
  if (!*out) cancel.request();
}

net::Task<FallbackExecutor::Refusal> FallbackExecutor::enter(Part& part) {
  const ModelLimits limits = part.step.row->limits;
  if (limits.tokens_per_minute > 0) part.tokens = expected_tokens(part.request);
  base::Status entered;
  if (manner_.deferred) {
    net::Task<base::Status> wait =
        part.step.state->gate.wait(limits, part.tokens, manner_.priority, part.cancel);
    entered = co_await wait;
  } else {
    entered = part.step.state->gate.enter(limits, part.tokens, part.step.model->name);
  }
  if (!entered) co_return entered.error();
  co_return std::nullopt;
}

net::Task<ReplyOrError> FallbackExecutor::request_part(Part& part) {
  Refusal refused = co_await enter(part);
  if (refused) co_return std::move(*refused);
  part.began = Clock::now();
  ReplyOrError reply = co_await try_part(part);
  if (reply) charge_usage(part, *reply);
  if (!reply && part.is_owed) charge_broken_stream(part);
  part.step.state->gate.leave();
  co_return reply;
}

// If the breaker opens between two calls, the error of the first call is returned. A job gets the breaker's
// error instead, because it waits for the target at no cost.
net::Task<ReplyOrError> FallbackExecutor::try_part(Part& part) {
  std::optional<ReplyOrError> last_reply;
  for (int number = 1;; ++number) {
    part.sent = false;
    part.received_tokens = 0;
    part.is_owed = false;
    ReplyOrError reply = co_await call_once(part);
    if (reply && part.keeps) {
      net::Task<void> check = enforce_schema(part, reply);
      co_await check;
    }
    const bool is_shut = !reply && !part.sent && reply.error().code == Code::kOverloaded;
    if (last_reply && is_shut && !manner_.deferred) co_return std::move(*last_reply);
    if (reply || !part.sent || part.begun || part.cancel.requested()) co_return reply;
    const auto wait = retry_wait(parts_, part.began, reply.error(), number);
    if (!wait) co_return reply;
    const bool passed = co_await net::pause(parts_.loop, *wait, part.cancel);
    if (!passed) co_return cancelled();
    last_reply = std::move(reply);
    part.step.state->gate.charge(part.step.row->limits, 1, 0, limits_manner());
  }
}

// Nearly all sinks call `go` at once; then there is no wait.
net::Task<bool> FallbackExecutor::may_send(net::Cancel& cancel) {
  struct Decision {
    std::optional<bool> at_once;
    std::function<void(bool)> later;
  };
  if (cancel.requested()) co_return false;
  const auto decision = std::make_shared<Decision>();
  callbacks_.before_sending([decision](bool go) {
    if (decision->later) return decision->later(go);
    decision->at_once = go;
  });
  if (decision->at_once) co_return *decision->at_once;
  net::Begin<bool> begin = [decision](std::function<void(bool)> done) -> std::function<void()> {
    decision->later = std::move(done);
    return {};
  };
  net::Task<std::optional<bool>> wait = net::cancellable<bool>(parts_.loop, std::move(begin), cancel);
  const std::optional<bool> go = co_await wait;
  co_return go.value_or(false);
}

// One call of a part: request, response, and what the call reveals about the target.

namespace {

using schemas::ChatPiece;
using schemas::ChatReply;

double seconds(std::chrono::steady_clock::duration took) {
  return std::chrono::duration<double>(took).count();
}

bool is_lost(const schemas::DroppedParams& dropped, std::string_view name) {
  return std::any_of(dropped.begin(), dropped.end(), [&](const schemas::DroppedParam& each) {
    return each.name == name && each.how == schemas::DroppedParam::How::kDropped;
  });
}

std::size_t sent_bytes(const ChatReply& reply) {
  std::size_t bytes = 0;
  for (const schemas::ChatChoice& each : reply.choices) bytes += each.content ? each.content->size() : 0;
  return bytes;
}

}  // namespace

base::Result<providers::WireRequest> FallbackExecutor::prepare(Part& part) {
  if (manner_.stream && large_) part.prompt_tokens = estimated_prompt(part.request);
  const providers::Target& target = part.step.row->target;
  if (is_mock(part.step)) {
    providers::WireRequest none;
    none.dropped = dropped_by(target, part.request);
    return none;
  }
  const providers::Translation& translation = providers::translation(target.preset->family);
  base::Result<providers::WireRequest> wire = translation.chat_request(target, part.request, manner_.stream);
  if (wire) {
    schemas::DroppedParams& dropped = wire->dropped;
    dropped.insert(dropped.begin(), part.request.dropped.begin(), part.request.dropped.end());
  }
  return wire;
}

// If there is no other target, later deferred requests wait in the queue, where waiting costs nothing.
base::Error FallbackExecutor::skip_open_target(const Part& part) const {
  base::Error error = breaker_open_error(part.step);
  if (manner_.deferred && steps_.size() == 1) part.step.state->gate.pause_for(error.retry_after);
  return error;
}

// A separate coroutine for the steps before the wait: its frame is freed before a stream that may last long.
net::Task<FallbackExecutor::Refusal> FallbackExecutor::prepare_call(Part& part, WirePtr& wire) {
  base::Result<providers::WireRequest> written = providers::WireRequest();
  if (large_) {
    net::Task<void> write = run_on_pool(true, [&] { written = prepare(part); });
    co_await write;
  } else {
    written = prepare(part);
  }
  if (!written) co_return written.error();
  if (const base::Status honoured = check_strict(part.request, written->dropped); !honoured)
    co_return honoured.error();
  const bool go = co_await may_send(part.cancel);
  if (!go) co_return cancelled();
  wire = std::make_unique<providers::WireRequest>(std::move(*written));
  co_return std::nullopt;
}

net::Task<ReplyOrError> FallbackExecutor::call_once(Part& part) {
  WirePtr wire;
  Refusal refused = co_await prepare_call(part, wire);
  if (refused) co_return std::move(*refused);
  const auto pass = part.step.breaker().admit(Clock::now());
  if (!pass) co_return skip_open_target(part);
  part.sent = true;
  part.keeps = manner_.schema && !is_lost(wire->dropped, "response_format");
  head_.model = part.step.model->name;
  head_.dropped = wire->dropped;
  head_.reports_usage = providers::reports_usage(part.step.row->target.preset->dialect);
  ++head_.attempts;
  const auto began = Clock::now();
  net::Task<std::optional<ReplyOrError>> call = exchange(part, std::move(wire));
  std::optional<ReplyOrError> reply = co_await call;
  if (!reply) {
    part.step.breaker().withdraw(*pass);
    co_return cancelled();
  }
  report_to_breaker(parts_, *registry_, part.step, *pass, *reply ? nullptr : &reply->error(),
                    Clock::now() - began);
  co_return std::move(*reply);
}

net::Task<std::optional<ReplyOrError>> FallbackExecutor::exchange(Part& part, WirePtr wire) {
  std::shared_ptr<providers::Call> call;
  const auto begin = [&](std::function<void(ReplyOrError)> done) -> std::function<void()> {
    call = start(part, *wire, std::move(done));
    wire.reset();
    if (manner_.stream && !large_) part.prompt_tokens = estimated_prompt(part.request);  // sent already
    calls_.insert(call);
    return [call] { call->cancel(); };
  };
  net::Cancellable<ReplyOrError> wait(parts_.loop, begin, part.cancel);
  std::optional<ReplyOrError> reply = co_await wait;
  calls_.erase(call);
  if (reply && !part.unread.empty()) {
    net::Task<void> read = read_on_pool(part, *reply);
    co_await read;
  }
  co_return reply;
}

net::Task<void> FallbackExecutor::read_on_pool(Part& part, ReplyOrError& reply) {
  const std::string body = std::exchange(part.unread, {});
  const providers::Target& target = part.step.row->target;
  net::Task<void> read = run_on_pool(
      true, [&] { reply = providers::translation(target.preset->family).chat_reply(target, body); });
  co_await read;
}

net::Task<void> FallbackExecutor::run_on_pool(bool is_large, std::function<void()> work) {
  return inference::run_on_pool(parts_.loop, parts_.pool, is_large, std::move(work));
}

// An answer that breaks the schema is still paid for.
net::Task<void> FallbackExecutor::enforce_schema(Part& part, ReplyOrError& reply) {
  const ChatReply streamed = part.kept ? part.kept->take() : ChatReply();
  const ChatReply& answer = manner_.stream ? streamed : *reply;
  base::Status fits;
  net::Task<void> check = run_on_pool(manner_.schema->steps(sent_bytes(answer)) > kSmallJson,
                                      [&] { fits = manner_.schema->check(answer); });
  co_await check;
  part.kept_bytes = 0;
  if (fits) co_return;
  charge_usage(part, *reply);
  part.tokens = 0;
  part.received_tokens = 0;
  part.is_owed = false;
  part.continuity = {};
  reply = std::move(fits.error());
}

std::shared_ptr<providers::Call> FallbackExecutor::start(Part& part, providers::WireRequest& wire,
                                                         std::function<void(ReplyOrError)> done) {
  providers::CallHandlers handlers;
  handlers.on_pieces = [this, &part](std::vector<ChatPiece>&& pieces) {
    for (ChatPiece& piece : pieces) receive(part, std::move(piece));
    callbacks_.on_pause();
  };
  handlers.is_ready = callbacks_.is_ready;
  handlers.on_unparsed = [&part, done](std::string body) {
    part.unread = std::move(body);
    done(ChatReply());
  };
  handlers.on_done = std::move(done);
  const providers::Target& target = part.step.row->target;
  if (is_mock(part.step))
    return providers::start_mock_chat(parts_.loop, target, part.request, manner_.stream, std::move(handlers));
  std::shared_ptr<const providers::Target> held(part.step.model, &target);
  return providers::start_chat(parts_.loop, parts_.client, std::move(held), std::move(wire), manner_.stream,
                               {}, std::move(handlers));
}

void FallbackExecutor::receive(Part& part, ChatPiece&& piece) {
  const bool is_first = !std::exchange(part.begun, true);
  begun_ = true;
  part.received_tokens += estimated_completion(piece);
  part.is_owed = true;
  part.continuity.receive(piece);
  piece.continuity.clear();
  if (part.keeps) keep(part, piece);
  if (part.index) piece.index = *part.index;
  callbacks_.on_piece(std::move(piece));
  if (!std::exchange(first_token_sent_, true))
    parts_.upstream_metrics.first_token(*registry_, part.step.model->name, seconds(Clock::now() - began_));
  if (!is_first) return;
  if (!part.index && callbacks_.on_begun) callbacks_.on_begun(large_);
}

// Keeps only as much as is checked. A longer answer fails the check by its length.
void FallbackExecutor::keep(Part& part, const ChatPiece& piece) {
  if (part.kept_bytes > kDocumentBytesMax) return;
  part.kept_bytes += piece.content ? piece.content->size() : 0;
  if (!part.kept) part.kept = std::make_unique<schemas::ChatAssembly>();
  part.kept->add(piece);
}

void FallbackExecutor::charge_usage(Part& part, ChatReply& reply) {
  if (!reply.usage) {
    const std::int64_t completion = manner_.stream ? part.received_tokens : estimated_completion(reply);
    const std::int64_t prompt = part.begun ? part.prompt_tokens : estimated_prompt(part.request);
    reply.usage = estimated_usage(prompt, completion);
  }
  part.continuity.receive(reply);
  part.continuity.remember(parts_.continuity, manner_.tenant, part.step.row->target.preset->name);
  answered_ = true;
  const auto paid =
      inference::charge_usage(parts_, *registry_, part.step, *reply.usage, {part.tokens, limits_manner()});
  priced_ = priced_ && paid.has_value();
  cost_ += paid.value_or(0);
}

// The pieces of a stream that broke off or was cancelled are paid for; their usage is estimated.
void FallbackExecutor::charge_broken_stream(Part& part) {
  part.continuity = {};
  ChatReply none;
  charge_usage(part, none);
}

}  // namespace millrace::inference
