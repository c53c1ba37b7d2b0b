#include <algorithm>
#include <utility>

#include "ai/inference/aside.h"
#include "ai/inference/cancelled.h"
#include "ai/inference/routing.h"
#include "ai/inference/tries.h"
#include "ai/providers/call.h"
#include "ai/providers/mock.h"

// One call of a part: what is told, what is heard, what is learned of the target.
namespace millrace::inference {
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

std::size_t said_bytes(const ChatReply& reply) {
  std::size_t bytes = 0;
  for (const schemas::ChatChoice& each : reply.choices) bytes += each.content ? each.content->size() : 0;
  return bytes;
}

}  // namespace

base::Result<providers::WireRequest> Tries::prepare(Part& part) {
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

// Where nobody else may answer, those that come after this one from a queue wait there, where it costs
// nothing.
base::Error Tries::let_be(const Part& part) const {
  base::Error error = left_alone(part.step);
  if (manner_.deferred && steps_.size() == 1) part.step.state->gate.rest(error.retry_after);
  return error;
}

// What comes before the wait has a frame of its own, which ends: a stream may wait for long.
net::Task<Tries::Refusal> Tries::make_ready(Part& part, WirePtr& wire) {
  base::Result<providers::WireRequest> written = providers::WireRequest();
  if (large_) {
    net::Task<void> write = aside(true, [&] { written = prepare(part); });
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

net::Task<ReplyOrError> Tries::call_once(Part& part) {
  WirePtr wire;
  Refusal refused = co_await make_ready(part, wire);
  if (refused) co_return std::move(*refused);
  const auto pass = part.step.breaker().admit(Clock::now());
  if (!pass) co_return let_be(part);
  part.sent = true;
  part.keeps = manner_.schema && !is_lost(wire->dropped, "response_format");
  head_.model = part.step.model->name;
  head_.dropped = wire->dropped;
  head_.tells_usage = providers::tells_usage(part.step.row->target.preset->dialect);
  ++head_.attempts;
  const auto began = Clock::now();
  net::Task<std::optional<ReplyOrError>> call = exchange(part, std::move(wire));
  std::optional<ReplyOrError> reply = co_await call;
  if (!reply) {
    part.step.breaker().withdraw(*pass);
    co_return cancelled();
  }
  judge(parts_, *registry_, part.step, *pass, *reply ? nullptr : &reply->error(), Clock::now() - began);
  co_return std::move(*reply);
}

net::Task<std::optional<ReplyOrError>> Tries::exchange(Part& part, WirePtr wire) {
  std::shared_ptr<providers::Call> call;
  const auto begin = [&](std::function<void(ReplyOrError)> done) -> std::function<void()> {
    call = start(part, *wire, std::move(done));
    wire.reset();
    if (manner_.stream && !large_) part.prompt_tokens = estimated_prompt(part.request);  // while nobody waits
    calls_.insert(call);
    return [call] { call->cancel(); };
  };
  net::Heard<ReplyOrError> wait(parts_.loop, begin, part.cancel);
  std::optional<ReplyOrError> reply = co_await wait;
  calls_.erase(call);
  if (reply && !part.unread.empty()) {
    net::Task<void> read = read_aside(part, *reply);
    co_await read;
  }
  co_return reply;
}

net::Task<void> Tries::read_aside(Part& part, ReplyOrError& reply) {
  const std::string body = std::exchange(part.unread, {});
  const providers::Target& target = part.step.row->target;
  net::Task<void> read =
      aside(true, [&] { reply = providers::translation(target.preset->family).chat_reply(target, body); });
  co_await read;
}

net::Task<void> Tries::aside(bool is_large, std::function<void()> work) {
  return inference::aside(parts_.loop, parts_.pool, is_large, std::move(work));
}

// What breaks the schema has been paid for all the same.
net::Task<void> Tries::hold_to_schema(Part& part, ReplyOrError& reply) {
  const ChatReply streamed = part.kept ? part.kept->take() : ChatReply();
  const ChatReply& answer = manner_.stream ? streamed : *reply;
  base::Status fits;
  net::Task<void> check = aside(manner_.schema->steps(said_bytes(answer)) > kSmallJson,
                                [&] { fits = manner_.schema->check(answer); });
  co_await check;
  part.kept_bytes = 0;
  if (fits) co_return;
  settle(part, *reply);
  part.tokens = 0;
  part.heard_tokens = 0;
  part.is_owed = false;
  part.continuity = {};
  reply = std::move(fits.error());
}

std::shared_ptr<providers::Call> Tries::start(Part& part, providers::WireRequest& wire,
                                              std::function<void(ReplyOrError)> done) {
  providers::CallHandlers handlers;
  handlers.on_pieces = [this, &part](std::vector<ChatPiece>&& pieces) {
    for (ChatPiece& piece : pieces) hear(part, std::move(piece));
    ears_.on_pause();
  };
  handlers.is_ready = ears_.is_ready;
  handlers.on_unread = [&part, done](std::string body) {
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

void Tries::hear(Part& part, ChatPiece&& piece) {
  const bool is_first = !std::exchange(part.begun, true);
  begun_ = true;
  part.heard_tokens += estimated_completion(piece);
  part.is_owed = true;
  part.continuity.hear(piece);
  piece.continuity.clear();
  if (part.keeps) keep(part, piece);
  if (part.index) piece.index = *part.index;
  ears_.on_piece(std::move(piece));
  if (!std::exchange(first_token_told_, true))
    parts_.meters.first_token(*registry_, part.step.model->name, seconds(Clock::now() - began_));
  if (!is_first) return;
  if (!part.index && ears_.on_begun) ears_.on_begun(large_);
}

// No more than is checked: of what is longer it is enough to know that it is.
void Tries::keep(Part& part, const ChatPiece& piece) {
  if (part.kept_bytes > kDocumentBytesMax) return;
  part.kept_bytes += piece.content ? piece.content->size() : 0;
  if (!part.kept) part.kept = std::make_unique<schemas::ChatAssembly>();
  part.kept->add(piece);
}

void Tries::settle(Part& part, ChatReply& reply) {
  if (!reply.usage) {
    const std::int64_t said = manner_.stream ? part.heard_tokens : estimated_completion(reply);
    const std::int64_t asked = part.begun ? part.prompt_tokens : estimated_prompt(part.request);
    reply.usage = estimated_usage(asked, said);
  }
  part.continuity.hear(reply);
  part.continuity.remember(parts_.continuity, manner_.tenant, part.step.row->target.preset->name);
  answered_ = true;
  const auto paid =
      inference::settle(parts_, *registry_, part.step, *reply.usage, {part.tokens, limits_manner()});
  priced_ = priced_ && paid.has_value();
  cost_ += paid.value_or(0);
}

// What a stream has said before it broke off, or was left, is paid for: estimated.
void Tries::settle_broken(Part& part) {
  part.continuity = {};
  ChatReply none;
  settle(part, none);
}

}  // namespace millrace::inference
