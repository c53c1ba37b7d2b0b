#pragma once
#include <memory>

#include "ai/inference/routing/lanes.h"
#include "workers/chat/provider_chat.h"
#include "workers/runner.h"

namespace millrace::workers {

// Limits claims of deferred completions to the capacity of their models.
class ChatLanes final : public JobLanes {
 public:
  explicit ChatLanes(std::shared_ptr<inference::Lanes> lanes) : lanes_(std::move(lanes)) {}
  PermitPtr take(const std::string& lane) override;
  void on_capacity(std::function<void()> callback) override { lanes_->on_capacity(std::move(callback)); }
  bool some_are_full() override { return lanes_->some_are_full(); }

 private:
  const std::shared_ptr<inference::Lanes> lanes_;
};

// Runs jobs of kind chat: deferred completions. Each is sent to its model at least once; an event is written
// to the job's history before the request is sent. A rate limit of the provider costs no attempt; the job
// waits as long as the provider requests. Errors that a retry cannot fix, and permanent refusals, end the job
// with the error that a direct request would have returned. A job is claimed only while its model has
// capacity.
class ChatRunner final : public Runner {
 public:
  // The source must outlive the last run.
  explicit ChatRunner(ChatSource source) : source_(source) {}
  std::shared_ptr<Run> start(const storage::Claimed& job, AttemptContext& context, Ended ended) override;
  std::shared_ptr<JobLanes> lanes() override;

 private:
  const ChatSource source_;
};

}  // namespace millrace::workers
