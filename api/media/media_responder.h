#pragma once
#include <memory>
#include <string_view>

#include "ai/inference/media/media.h"
#include "api/call.h"
#include "api/chat/chat_responder.h"
#include "api/context.h"
#include "api/tenants/request_budget.h"

namespace millrace::api {

// The response to a request for a model other than chat. It goes from the run on the loop's thread to the
// client. If the client disconnects, the run is cancelled.
class MediaResponder : public ActiveResponder, public std::enable_shared_from_this<MediaResponder> {
 public:
  MediaResponder(Context& context, CallPtr call)
      : context_(context),
        call_(std::move(call)),
        budget_(std::make_shared<RequestBudget>(context, call_->principal)) {}

  // Any thread; never blocks. REQUIRES: Media::check.
  void begin();

  void cancel_with_error(const base::Error& why) override;
  void on_disconnect() override;

 protected:
  // All on the loop's thread.
  virtual std::shared_ptr<inference::ChatRun> start_run(const inference::MediaClient& media) = 0;
  virtual inference::CostBound max_cost(const inference::MediaClient& media) const = 0;
  virtual void send_error(const base::Error& error) { fail(error); }
  // Sends an error before the first byte, with the headers that name the called model.
  void fail(const base::Error& error);
  // The run has ended; no callback follows.
  void over();
  bool is_over() const { return over_; }
  // The model of the last call, once the run has ended; empty: no call was made.
  std::string_view requested_model() const { return calls_ ? calls_->head.model : std::string_view(); }
  void resume() {
    if (run_) run_->resume();
  }

  Context& context_;
  const CallPtr call_;

 private:
  void start();
  void start_now();
  void before_sending(const inference::CallCost& cost, std::function<void(bool go)> go);

  const std::shared_ptr<RequestBudget> budget_;
  schemas::Charge used_;
  std::shared_ptr<inference::ChatRun> run_;
  std::optional<inference::MediaResult> calls_;  // calls of the run, once it has ended
  bool over_ = false;
};

// Embeddings in one reply. A long reply is serialized on the pool.
class EmbeddingResponder final : public MediaResponder {
 public:
  EmbeddingResponder(Context& context, CallPtr call, schemas::EmbeddingRequest request)
      : MediaResponder(context, std::move(call)), base64_(request.base64), request_(std::move(request)) {}

 private:
  std::shared_ptr<inference::ChatRun> start_run(const inference::MediaClient& media) override;
  inference::CostBound max_cost(const inference::MediaClient& media) const override {
    return media.max_cost(request_);
  }
  void on_end(base::Result<inference::EmbeddingResult> end);

  const bool base64_;
  schemas::EmbeddingRequest request_;  // moved from by `start_run`
};

}  // namespace millrace::api
