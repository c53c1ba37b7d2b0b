#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ai/inference/media/media_request.h"
#include "ai/inference/routing/attempts.h"
#include "ai/providers/call.h"
#include "platform/base/pool.h"
#include "platform/net/http/http_task.h"

namespace millrace::inference {

// Tries several targets in order until one completes the whole MediaRequest. Limits, breaker, retries and
// fallbacks work as for chats (FallbackExecutor). One per run; loop thread only. All arguments outlive its
// tasks.
class MediaFallbackExecutor {
 public:
  MediaFallbackExecutor(ChatShared& shared, base::Pool& pool, const Registry& registry,
                        std::vector<TargetCandidate> targets, MediaRequest& media_request,
                        const std::string& tenant, const BeforeSending& before_sending, net::Cancel& cancel)
      : shared_(shared),
        pool_(pool),
        registry_(registry),
        targets_(std::move(targets)),
        media_request_(media_request),
        tenant_(tenant),
        before_sending_(before_sending),
        cancel_(cancel) {
    head_.attempts = 0;
  }

  net::Task<base::Status> run();
  const ChatHead& head() const { return head_; }
  std::optional<double> cost_usd() const { return priced_ ? std::optional(cost_) : std::nullopt; }
  schemas::Charge charged() const;  // as ChatRun::charged
  void resume();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kCallsAtOnce = 4;  // concurrent calls for one request

  struct Part {
    const TargetCandidate& candidate;
    std::size_t number;
    net::Cancel& cancel;
    Clock::time_point began = Clock::now();                     // when the limits admitted it
    bool sent = false;                                          // the newest call was sent
    bool own_connection = false;                                // for the next call
    Charges::Call cost = {};                                    // of the newest call
    std::unique_ptr<providers::FailedUsage> failed_usage = {};  // of the newest call, if it is known
    std::int64_t tokens = 0;                                    // charged to the limits
    base::Status status = {};
  };
  net::Task<base::Status> request_target(const TargetCandidate& candidate);
  net::Task<void> request_part(Part& part);
  net::Task<base::Status> try_part(Part& part);
  net::Task<base::Status> call_once(Part& part);
  void charge(Part& part, const Use& used);
  void charge_broken_call(Part& part);
  net::Task<base::Status> answer(Part& part, providers::WireRequest wire);
  net::Task<base::Result<std::string>> exchange(Part& part, providers::WireRequest wire);
  // As net::run_on_pool; large if the MediaRequest is.
  net::Task<void> run_on_pool(std::function<void()> work);
  std::shared_ptr<providers::Call> start(Part& part, providers::WireRequest& wire,
                                         std::function<void(base::Result<std::string>)> done);

  ChatShared& shared_;
  base::Pool& pool_;
  const Registry& registry_;
  const std::vector<TargetCandidate> targets_;
  MediaRequest& media_request_;
  const std::string& tenant_;
  const BeforeSending& before_sending_;  // may be null
  net::Cancel& cancel_;
  ChatHead head_;
  double cost_ = 0;
  bool priced_ = true;
  Charges charges_;
  std::set<std::shared_ptr<providers::Call>> calls_;
  std::set<const Part*> uncharged_;  // sent; their tokens are not in `charges_` yet
};

}  // namespace millrace::inference
