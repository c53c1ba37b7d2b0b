#pragma once
#include <memory>
#include <string>
#include <utility>

#include "ai/inference/routing/lanes.h"
#include "schemas/chat/chat_job.h"
#include "workers/chat/provider_chat.h"
#include "workers/runner.h"

namespace millrace::workers {

// Limits claims of deferred completions to the capacity of their models.
class ChatLanes final : public JobLanes {
 public:
  explicit ChatLanes(std::shared_ptr<inference::Lanes> lanes) : lanes_(std::move(lanes)) {}
  PermitPtr take(const std::string& lane, const std::string& tenant) override;
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
  // The source must outlive the last run. `secret_key`: 32 bytes; stored requests are encrypted with it.
  ChatRunner(ChatSource source, std::string secret_key)
      : source_(source), secret_key_(std::move(secret_key)) {}
  std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) override;
  std::shared_ptr<JobLanes> lanes() override;

 private:
  const ChatSource source_;
  const std::string secret_key_;
};

// One attempt at a deferred completion. Loop thread only; blobs are read and written on the pool.
class ChatJobRun final : public Run,
                         public ProviderChat::Caller,
                         public std::enable_shared_from_this<ChatJobRun> {
 public:
  ChatJobRun(storage::ClaimedJob job, AttemptContext& context, ChatSource source,
             const std::string& secret_key, Runner::Ended ended);
  ~ChatJobRun() override;
  void begin();
  void stop(StopReason why) override;

  void on_head(const inference::ChatHead& head) override;
  void on_piece(schemas::ChatPiece&&) override {}  // not streamed: the whole response comes with on_end
  void before_sending(const inference::CallCost& cost, std::function<void(bool go)> go) override;
  void on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd,
                       const schemas::Charge& charged) override;
  void on_charged(const schemas::Charge& charged) override;
  void on_end(base::Result<inference::ChatResult> end) override;

 private:
  void read();
  void send(base::Result<schemas::ChatRequest> request);
  void fail(const base::Error& error);
  void keep(std::string result);
  void end(Outcome outcome);
  void record_call(const inference::CallCost& cost, std::function<void(bool go)> go);
  bool may_send();  // false: the attempt is over; this call may have ended it
  // Runs `work` on the pool and `then` with its result on the loop; retried later while the pool is full.
  template <class Work, class Then>
  void on_pool(base::Pool::Queue queue, Work work, Then then);
  void retry_later(std::function<void()> step);

  const storage::ClaimedJob job_;
  AttemptContext& context_;
  const ChatSource source_;
  const std::string secret_key_;
  Runner::Ended ended_;
  const WeakLoop weak_loop_;
  schemas::ChatOutcome outcome_;
  bool old_functions_ = false;
  std::shared_ptr<ProviderChat> chat_;
  bool sending_recorded_ = false;                           // the event is in the job's history
  std::vector<std::function<void(bool go)>> waiting_ = {};  // requests that wait for that event
  InputRetries input_retries_;
  bool over_ = false;
  net::Loop::Timer timer_;
};

}  // namespace millrace::workers
