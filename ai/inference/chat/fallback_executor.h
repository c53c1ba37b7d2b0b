#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ai/inference/chat/chat_parts.h"
#include "ai/inference/routing/attempts.h"
#include "ai/inference/routing/price.h"
#include "ai/inference/schema/reply_schema.h"
#include "ai/providers/call.h"
#include "platform/base/result.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// A base::Result on the heap: every coroutine that a request waits in keeps room for it, some of them twice,
// and that room is a pointer. Of one that was moved from nothing may be asked.
class [[nodiscard]] ReplyOrError {
 public:
  using Outcome = base::Result<schemas::ChatReply>;
  ReplyOrError(Outcome outcome) : outcome_(std::make_unique<Outcome>(std::move(outcome))) {}
  ReplyOrError(schemas::ChatReply reply) : outcome_(std::make_unique<Outcome>(std::move(reply))) {}
  ReplyOrError(base::Error error) : outcome_(std::make_unique<Outcome>(std::move(error))) {}

  explicit operator bool() const { return outcome_->has_value(); }
  schemas::ChatReply& operator*() { return **outcome_; }
  schemas::ChatReply* operator->() { return &**outcome_; }
  base::Error& error() { return outcome_->error(); }
  const base::Error& error() const { return outcome_->error(); }

 private:
  std::unique_ptr<Outcome> outcome_;
};

// How a run hears of its calls. Must not block.
struct AttemptCallbacks {
  std::function<void(schemas::ChatPiece&&)> on_piece;  // streams only
  std::function<void()> on_pause;                      // after all that have come at once
  std::function<bool()> is_ready;
  std::function<void(std::function<void(bool go)>)> before_sending;  // each call
  // After the first piece of the only call for a request, which nobody reads from then on. May be null.
  std::function<void(bool is_large)> on_begun = {};
};

// Gets completions from the first target of several that gives one: limits, breaker, retries and fallbacks
// before the first piece, several calls for n where the target makes one choice. One per run; loop thread
// only. All that it is given by reference outlives its tasks.
class FallbackExecutor {
 public:
  struct Manner {
    bool stream = false, deferred = false;
    int priority = 0;
    ReplySchema::Ptr schema;  // that answers have to fit; null: any
    std::string tenant = {};  // of all its requests
  };
  FallbackExecutor(ChatParts& parts, RegistryPtr registry, std::vector<Step> steps, Manner manner,
                   AttemptCallbacks callbacks, net::Cancel& cancel);

  // A later request of the same run begins where the one before was answered. Of a stream the reply has no
  // choices. Its usage is never absent.
  net::Task<ReplyOrError> request_reply(schemas::ChatRequest& request);
  const ChatHead& head() const { return head_; }  // of the call that was made last
  std::optional<double> cost_usd() const;         // of all answers; nullopt: of one there is no price
  void resume();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kFanOut = 8;  // calls at a time for one request

  using WirePtr = std::unique_ptr<providers::WireRequest>;
  // One choice, or all of them, from one target.
  struct Part {
    const Step& step;
    const schemas::ChatRequest& request;  // there until it has begun
    std::optional<int> index;             // of the choice, where each has its own call
    net::Cancel& cancel;
    Clock::time_point began = Clock::now();  // after the limits let it in
    bool sent = false, begun = false;        // of the newest call
    std::int64_t tokens = 0;                 // that the limits were charged for
    std::int64_t prompt_tokens = 0;          // once it has begun, estimated
    std::int64_t received_tokens = 0;        // of the newest call's pieces
    bool is_owed = false;                    // for them, and for the prompt that they answer
    ReasoningStateReader continuity = {};
    std::string unread = {};  // the body of a large reply
    bool keeps = false;       // pieces, for there is a schema that this target is told of
    std::unique_ptr<schemas::ChatAssembly> kept = {};  // of them
    std::size_t kept_bytes = 0;
  };
  net::Task<ReplyOrError> request_step(const Step& step, schemas::ChatRequest& request);
  net::Task<ReplyOrError> call_many(const Step& step, const schemas::ChatRequest& request);
  net::Task<void> call_one_of(const Step& step, const schemas::ChatRequest& request, int index,
                              net::Cancel& cancel, std::optional<ReplyOrError>& out);
  net::Task<ReplyOrError> request_part(Part& part);
  using Refusal = std::optional<ReplyOrError>;  // why it goes no further
  net::Task<Refusal> enter(Part& part);
  net::Task<ReplyOrError> try_part(Part& part);
  net::Task<ReplyOrError> call_once(Part& part);
  net::Task<Refusal> make_ready(Part& part, WirePtr& wire);
  net::Task<bool> may_send(net::Cancel& cancel);
  base::Error let_be(const Part& part) const;
  RateLimiter::Manner limits_manner() const {
    return manner_.deferred ? RateLimiter::Manner::kSpread : RateLimiter::Manner::kAtOnce;
  }
  net::Task<std::optional<ReplyOrError>> exchange(Part& part, WirePtr wire);
  net::Task<void> read_on_pool(Part& part, ReplyOrError& reply);
  net::Task<void> hold_to_schema(Part& part, ReplyOrError& reply);
  net::Task<void> run_on_pool(bool is_large, std::function<void()> work);

  base::Result<providers::WireRequest> prepare(Part& part);
  std::shared_ptr<providers::Call> start(Part& part, providers::WireRequest& wire,
                                         std::function<void(ReplyOrError)> done);
  void receive(Part& part, schemas::ChatPiece&& piece);
  void keep(Part& part, const schemas::ChatPiece& piece);
  void settle(Part& part, schemas::ChatReply& reply);
  void settle_broken(Part& part);

  ChatParts& parts_;
  RegistryPtr registry_;
  std::vector<Step> steps_;
  Manner manner_;
  AttemptCallbacks callbacks_;
  net::Cancel& cancel_;
  Clock::time_point began_ = Clock::now();
  std::size_t first_ = 0;  // step
  bool large_ = false;     // the present request
  bool begun_ = false;     // a piece of the present request has been heard
  bool first_token_sent_ = false;
  ChatHead head_;
  double cost_ = 0;
  bool priced_ = true, answered_ = false;
  std::set<std::shared_ptr<providers::Call>> calls_;
};

}  // namespace millrace::inference
