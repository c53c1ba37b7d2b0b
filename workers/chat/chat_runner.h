#pragma once
#include <memory>

#include "ai/inference/routing/lanes.h"
#include "workers/chat/provider_chat.h"
#include "workers/runner.h"

namespace millrace::workers {

// Claims of deferred completions as the limits of their models want them.
class ChatLanes final : public JobLanes {
 public:
  explicit ChatLanes(std::shared_ptr<inference::Lanes> lanes) : lanes_(std::move(lanes)) {}
  PermitPtr take(const std::string& lane) override;
  void on_capacity(std::function<void()> callback) override { lanes_->on_capacity(std::move(callback)); }
  bool some_are_full() override { return lanes_->some_are_full(); }

 private:
  const std::shared_ptr<inference::Lanes> lanes_;
};

// Jobs of kind chat: deferred completions. Each is asked of its model at least once: that it is sent is
// written into its history before it goes out. A limit of the provider's costs no attempt and waits for as
// long as it says; errors that a retry cannot help, and refusals that last, end the job with what a direct
// request would have been told. No job is claimed whose model has no room for it.
class ChatRunner final : public Runner {
 public:
  // The source goes after the last run has ended.
  explicit ChatRunner(ChatSource source) : source_(source) {}
  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;
  std::shared_ptr<JobLanes> lanes() override;

 private:
  const ChatSource source_;
};

}  // namespace millrace::workers
