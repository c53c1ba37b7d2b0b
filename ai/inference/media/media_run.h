#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ai/inference/media/media_fallback.h"

namespace millrace::inference {

// The targets to try: the rows of the model by weight, then the rows of its fallbacks, without those that
// refuse the request. Errors: kModelNotFound; kBadRequest for a model that does other work; the refusals of
// the request.
tl::expected<std::vector<TargetCandidate>, schemas::Refusal> choose_targets(
    ChatShared& shared, const Registry& registry, const MediaRequest& media_request);
// The same check for the model alone; ignores fallbacks and limits. nullopt: the model can handle the
// request. Thread-safe.
std::optional<schemas::Refusal> refusal_of(const Registry& registry, const MediaRequest& media_request);
// The most that one upstream call of the request may cost, over all rows that may handle it. REQUIRES:
// refusal_of returns nullopt. Thread-safe.
CostBound max_cost(const Registry& registry, MediaRequest& media_request);

// One running request of a Media. It keeps itself alive until its task has ended. Loop thread only.
class MediaRun final : public ChatRun, public std::enable_shared_from_this<MediaRun> {
 public:
  MediaRun(std::shared_ptr<ChatShared> shared, base::Pool& pool, RegistryPtr registry,
           std::unique_ptr<MediaRequest> media_request, std::string tenant, BeforeSending before_sending)
      : shared_(std::move(shared)),
        pool_(pool),
        registry_(std::move(registry)),
        media_request_(std::move(media_request)),
        tenant_(std::move(tenant)),
        before_sending_(std::move(before_sending)) {}

  void begin();  // no callback before it returns
  std::optional<MediaResult> calls() const override;
  schemas::Charge charged() const override { return executor_ ? executor_->charged() : schemas::Charge{}; }
  void cancel() override;
  void resume() override;

 private:
  BeforeSending until_cancelled(BeforeSending ask);
  net::Task<void> work();
  void end(base::Status status);

  std::shared_ptr<ChatShared> shared_;
  base::Pool& pool_;
  RegistryPtr registry_;
  std::unique_ptr<MediaRequest> media_request_;
  const std::string tenant_;
  BeforeSending before_sending_;  // may be null
  net::Cancel cancel_;
  std::optional<MediaFallbackExecutor> executor_;
  bool silent_ = false;  // after a cancel
};

}  // namespace millrace::inference
