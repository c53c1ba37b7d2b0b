#include "ai/inference/tries.h"

#include <algorithm>
#include <utility>

#include "ai/inference/aside.h"
#include "ai/inference/cancelled.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/json_tree.h"

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
  const bool said = most != body.end() && most->is_number_integer();
  return estimated_prompt(request) + (said ? most->get<std::int64_t>() : 0);
}

}  // namespace

Tries::Tries(ChatParts& parts, RegistryPtr registry, std::vector<Step> steps, Manner manner, TryEars ears,
             net::Cancel& cancel)
    : parts_(parts),
      registry_(std::move(registry)),
      steps_(std::move(steps)),
      manner_(std::move(manner)),
      ears_(std::move(ears)),
      cancel_(cancel) {
  head_.attempts = 0;
  head_.id = "chatcmpl-" + base::hex(base::random_bytes(kChatIdBytes));
}

std::optional<double> Tries::cost_usd() const {
  return priced_ && answered_ ? std::optional<double>(cost_) : std::nullopt;
}

void Tries::resume() {
  for (const auto& call : std::set(calls_)) call->resume();
}

net::Task<ReplyOrError> Tries::ask(ChatRequest& request) {
  begun_ = false;
  large_ = schemas::text_bytes(request.body) > kSmallJson;
  Refusals refusals;
  for (std::size_t i = first_; i < steps_.size(); ++i) {
    const int attempts = head_.attempts;
    ReplyOrError reply = co_await ask_step(steps_[i], request);
    if (reply) first_ = i;
    if (reply || begun_ || cancel_.requested() || !is_worth_another(reply.error().code)) co_return reply;
    refusals.add(std::move(reply.error()), head_.attempts > attempts);
  }
  co_return std::move(refusals).told();
}

net::Task<ReplyOrError> Tries::ask_step(const Step& step, ChatRequest& request) {
  const providers::Preset& preset = *step.row->target.preset;
  if (preset.family != providers::Family::kOpenai) schemas::form_body(request);
  parts_.continuity.fill(request, preset.name);
  if (fans_out(step, request)) co_return co_await ask_many(step, request);
  Part part{.step = step, .request = request, .index = std::nullopt, .cancel = cancel_};
  co_return co_await ask_part(part);
}

net::Task<ReplyOrError> Tries::ask_many(const Step& step, const ChatRequest& request) {
  net::Cancel together;
  const int listener = cancel_.listen([&together] { together.request(); });
  std::vector<std::optional<ReplyOrError>> replies(static_cast<std::size_t>(request.n));
  std::vector<net::Task<void>> tasks;
  tasks.reserve(replies.size());
  for (int i = 0; i < request.n; ++i)
    tasks.push_back(ask_one_of(step, request, i, together, replies[static_cast<std::size_t>(i)]));
  net::Task<void> wait = net::all(std::move(tasks), kFanOut);
  co_await wait;
  cancel_.quiet(listener);
  co_return joined(replies);
}

// The first that fails ends the others.
net::Task<void> Tries::ask_one_of(const Step& step, const ChatRequest& request, int index,
                                  net::Cancel& cancel, std::optional<ReplyOrError>& out) {
  Part part{.step = step, .request = request, .index = index, .cancel = cancel};
  out = co_await ask_part(part);
  if (!*out) cancel.request();
}

net::Task<Tries::Refusal> Tries::enter(Part& part) {
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

net::Task<ReplyOrError> Tries::ask_part(Part& part) {
  Refusal refused = co_await enter(part);
  if (refused) co_return std::move(*refused);
  part.began = Clock::now();
  ReplyOrError reply = co_await try_part(part);
  if (reply) settle(part, *reply);
  if (!reply && part.is_owed) settle_broken(part);
  part.step.state->gate.leave();
  co_return reply;
}

// A breaker that opens between two calls does not hide what the first of them was told, but from a job, which
// waits for the target and pays nothing for that.
net::Task<ReplyOrError> Tries::try_part(Part& part) {
  std::optional<ReplyOrError> said;
  for (int number = 1;; ++number) {
    part.sent = false;
    part.heard_tokens = 0;
    part.is_owed = false;
    ReplyOrError reply = co_await call_once(part);
    if (reply && part.keeps) {
      net::Task<void> check = hold_to_schema(part, reply);
      co_await check;
    }
    const bool is_shut = !reply && !part.sent && reply.error().code == Code::kOverloaded;
    if (said && is_shut && !manner_.deferred) co_return std::move(*said);
    if (reply || !part.sent || part.begun || part.cancel.requested()) co_return reply;
    const auto wait = retry_wait(parts_, part.began, reply.error(), number);
    if (!wait) co_return reply;
    const bool passed = co_await net::pause(parts_.loop, *wait, part.cancel);
    if (!passed) co_return cancelled();
    said = std::move(reply);
    part.step.state->gate.charge(part.step.row->limits, 1, 0, limits_manner());
  }
}

// Who says so at once, as nearly all do, is not waited for.
net::Task<bool> Tries::may_send(net::Cancel& cancel) {
  struct Said {
    std::optional<bool> at_once;
    std::function<void(bool)> later;
  };
  if (cancel.requested()) co_return false;
  const auto said = std::make_shared<Said>();
  ears_.before_sending([said](bool go) {
    if (said->later) return said->later(go);
    said->at_once = go;
  });
  if (said->at_once) co_return *said->at_once;
  net::Begin<bool> begin = [said](std::function<void(bool)> done) -> std::function<void()> {
    said->later = std::move(done);
    return {};
  };
  net::Task<std::optional<bool>> wait = net::heard<bool>(parts_.loop, std::move(begin), cancel);
  const std::optional<bool> go = co_await wait;
  co_return go.value_or(false);
}

}  // namespace millrace::inference
