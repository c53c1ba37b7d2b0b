#pragma once
#include <functional>
#include <memory>
#include <string>

#include "ai/inference/chat/chat.h"
#include "storage/jobs/job_outcomes.h"
#include "workers/weak_loop.h"

namespace millrace::workers {

// A Chat and the loop that it runs on; both outlive all requests.
struct ChatSource {
  inference::Chat& chat;
  net::Loop& loop;
};

// How calls to a provider's models are paid. Both run on the Chat's loop, and either may be null;
// `before_sending` may answer on any thread.
struct ModelBilling {
  inference::BeforeSending before_sending = {};
  std::function<void(const schemas::Charge& charged)> on_charged = {};  // once, before the end of the calls
};
// The same call for the store. `used_before`: by earlier runs of the attempt.
storage::JobOutcomes::ModelCall model_call(const inference::CallCost& cost, schemas::NanoUsd used_before);
// `before_sending`, answering on the Chat's loop; null if it is.
inference::BeforeSending on_chat_loop(net::Loop& loop, inference::BeforeSending before_sending);

// The error of a job whose provider model does not exist (or no longer exists) on this worker.
base::Error no_remote_model(const std::string& name);

// Requests one completion from a Chat that runs on another loop than the caller. The caller receives the
// callbacks on its loop, in the same order, until it cancels or is destroyed.
class ProviderChat final : public inference::ChatSink, public std::enable_shared_from_this<ProviderChat> {
 public:
  class Caller : public inference::ChatSink {
   public:
    // Called directly before on_end reports an error, even if no call was sent: ChatRun::charged.
    virtual void on_charged(const schemas::Charge& charged) = 0;
  };
  ProviderChat(ChatSource source, WeakLoop home, std::weak_ptr<Caller> caller);
  // Both are called on the caller's loop. Without `cancel`, this object must be kept alive until on_end.
  void start(schemas::ChatRequest request);
  // `done` may be null. It receives ChatRun::charged on the caller's loop.
  void cancel(std::function<void(const schemas::Charge& charged)> done = {});

  // Called on the Chat's loop.
  void on_head(const inference::ChatHead& head) override;
  void on_piece(schemas::ChatPiece&&) override {}  // not streamed: the whole response comes with on_end
  void before_sending(const inference::CallCost& cost, std::function<void(bool go)> go) override;
  void on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd,
                       const schemas::Charge& charged) override;
  void on_end(base::Result<inference::ChatResult> end) override;

 private:
  // Runs `f` on the caller's loop, with null if the caller has been destroyed. False: that loop has ended.
  bool post_to_caller(std::function<void(Caller*)> f) const;

  const ChatSource source_;
  const WeakLoop caller_loop_;
  const std::weak_ptr<Caller> caller_;
  std::shared_ptr<inference::ChatRun> run_;  // used on the Chat's loop only
  bool cancelled_ = false;                   // used on the Chat's loop only
};

}  // namespace millrace::workers
