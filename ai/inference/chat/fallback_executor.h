#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ai/inference/chat/chat_shared.h"
#include "ai/inference/chat/paused_turn.h"
#include "ai/inference/chat/reply_or_error.h"
#include "ai/inference/routing/attempts.h"
#include "ai/inference/routing/price.h"
#include "ai/inference/schema/reply_schema.h"
#include "ai/providers/call.h"
#include "platform/base/result.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// Callbacks from upstream calls to their run. Must not block.
struct AttemptCallbacks {
  std::function<void(schemas::ChatPiece&&)> on_piece;  // streams only
  std::function<void()> on_pause;                      // after each batch of pieces that arrived together
  std::function<bool()> is_ready;
  BeforeSending before_sending;
  // After the first piece with content, if the request has only one call. The request is not read after that.
  // Not called if the provider may pause its turn, which takes further calls. May be null.
  std::function<void(bool is_large)> on_begun = {};
};

// Tries several targets in order until one returns a completion. Applies limits, breaker, retries, and
// fallbacks before the first piece. Makes several calls for `n` if the target returns one choice per call.
// One per run; loop thread only. All references passed in outlive its tasks.
class FallbackExecutor {
 public:
  struct Options {
    bool stream = false, deferred = false;
    int priority = 0;
    ReplySchema::Ptr schema;                            // answers must match it; null: no schema
    std::string tenant = {};                            // the same for all requests
    std::optional<std::int64_t> requested_output = {};  // of the client
  };
  FallbackExecutor(ChatShared& shared, RegistryPtr registry, std::vector<TargetCandidate> targets,
                   Options options, AttemptCallbacks callbacks, net::Cancel& cancel);

  // A later request of the same run starts at the target that answered the previous one. For a stream the
  // reply has no choices. Its usage is always set.
  net::Task<ReplyOrError> request_reply(schemas::ChatRequest& request);
  // Keeps the reasoning state of the last answer, which the client gets.
  void remember_reasoning();
  const ChatHead& head() const { return head_; }  // of the last call
  // The one that answered the last request.
  const providers::Target& target() const { return targets_[first_].row->target; }
  std::optional<double> cost_usd() const;  // of all answers; nullopt: the price of one is unknown
  schemas::Charge charged() const;         // as ChatRun::charged
  void resume();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kFanOut = 8;  // concurrent calls for one request

  using WirePtr = std::unique_ptr<providers::WireRequest>;
  // One upstream call with its retries: for all choices, or for one of them (`index`).
  struct TargetCall {
    const TargetCandidate& candidate;
    const schemas::ChatRequest& request;  // valid until the answer has begun
    std::optional<int> index;             // of the choice, if each choice has a separate call
    net::Cancel& cancel;
    Clock::time_point began = Clock::now();          // when the limits admitted it
    bool sent = false, begun = false;                // state of the newest call
    bool own_connection = false;                     // for the next call
    std::int64_t tokens = 0;                         // charged to the limits
    std::optional<std::int64_t> prompt_tokens = {};  // estimated; set at the latest when the answer begins
    std::int64_t received_tokens = 0;                // in the pieces of the newest call
    std::unique_ptr<providers::FailedUsage> failed_usage = {};  // of the newest call, if it is known
    Charges::Call cost = {};                                    // of the newest call
    ReasoningStateReader reasoning_state = {};
    ReasoningStateReader earlier_reasoning = {};  // that of the earlier parts of a paused turn
    std::string unparsed_body = {};               // body of a large reply, not parsed yet
    providers::WireNames names = {};              // of the newest call
    ReplySchema::Parts checked = {};  // of the answer of this target; its pieces are kept for this
    std::vector<schemas::ChatPiece> opening = {};           // pieces before the first content
    std::unique_ptr<schemas::ChatAssembly> collected = {};  // the kept pieces
    std::size_t collected_bytes = 0;
    std::shared_ptr<PausedTurn> turn = {};  // set if the provider may pause the turn; of all its calls
  };
  net::Task<ReplyOrError> request_target(const TargetCandidate& candidate, schemas::ChatRequest& request);
  net::Task<ReplyOrError> call_many(const TargetCandidate& candidate, const schemas::ChatRequest& request);
  net::Task<void> call_one_of(const TargetCandidate& candidate, const schemas::ChatRequest& request,
                              int index, net::Cancel& cancel, std::optional<ReplyOrError>& out);
  net::Task<ReplyOrError> run_target_call(TargetCall& target_call);
  using EarlyReply = std::optional<ReplyOrError>;  // set: stop here with this result
  net::Task<EarlyReply> enter(TargetCall& target_call);
  net::Task<ReplyOrError> try_target_call(TargetCall& target_call);
  net::Task<void> continue_turn(TargetCall& first, ReplyOrError& reply);
  void take_part(TargetCall& target_call, schemas::ChatReply& reply);
  net::Task<ReplyOrError> call_once(TargetCall& target_call);
  net::Task<EarlyReply> prepare_call(TargetCall& target_call, WirePtr& wire,
                                     std::optional<Breaker::Pass>& pass);
  base::Error skip_open_target(const TargetCall& target_call) const;
  RateLimiter::Pacing pacing() const {
    return options_.deferred ? RateLimiter::Pacing::kSpread : RateLimiter::Pacing::kAtOnce;
  }
  net::Task<std::optional<ReplyOrError>> exchange(TargetCall& target_call, WirePtr wire);
  net::Task<void> read_on_pool(TargetCall& target_call, ReplyOrError& reply);
  net::Task<void> enforce_schema(TargetCall& target_call, ReplyOrError& reply);
  net::Task<void> run_on_pool(bool is_large, std::function<void()> work);

  void cap_output(const providers::Target& target, schemas::ChatRequest& request) const;
  base::Result<providers::WireRequest> prepare(TargetCall& target_call);
  std::shared_ptr<providers::Call> start(TargetCall& target_call, providers::WireRequest& wire,
                                         std::function<void(ReplyOrError)> done);
  void receive(TargetCall& target_call, schemas::ChatPiece&& piece);
  void deliver(TargetCall& target_call, schemas::ChatPiece&& piece);
  void complete(TargetCall& target_call, ReplyOrError& reply);
  void collect(TargetCall& target_call, const schemas::ChatPiece& piece);
  void charge_usage(TargetCall& target_call, schemas::ChatReply& reply);
  void charge_broken_call(TargetCall& target_call);
  static std::int64_t prompt_tokens(const TargetCall& target_call);

  ChatShared& shared_;
  RegistryPtr registry_;
  std::vector<TargetCandidate> targets_;
  Options options_;
  AttemptCallbacks callbacks_;
  net::Cancel& cancel_;
  Clock::time_point began_ = Clock::now();
  // As the client sent it: later requests of a run have turns that the client does not get.
  std::optional<Conversation> conversation_;
  FilledState filled_state_;                                                // of the request
  std::vector<std::pair<std::string_view, ReasoningStateReader>> answers_;  // to the last one, by provider
  std::size_t first_ = 0;  // index of the target to start with
  bool large_ = false;     // the current request is large
  bool begun_ = false;     // a piece of the current request has arrived
  bool first_token_sent_ = false;
  ChatHead head_;
  double cost_ = 0;
  Charges charges_;
  bool priced_ = true, answered_ = false;
  std::set<std::shared_ptr<providers::Call>> calls_;
  std::set<const TargetCall*> uncharged_;  // sent; their tokens are not in `charges_` yet
};

}  // namespace millrace::inference
