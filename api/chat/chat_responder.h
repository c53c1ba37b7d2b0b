#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "ai/inference/chat/chat.h"
#include "api/call.h"
#include "api/context.h"
#include "api/tenants/request_budget.h"
#include "platform/net/loop.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::api {

class ActiveResponder;

// The next heartbeat of each stream that needs one, ordered by due time.
struct PendingHeartbeat {
  std::chrono::steady_clock::time_point due;
  ActiveResponder* responder;
};
using Heartbeats = std::list<PendingHeartbeat>;

// A response in progress on the loop. Loop thread only.
class ActiveResponder {
 public:
  virtual ~ActiveResponder() = default;
  virtual void cancel_with_error(
      const base::Error& why) = 0;   // cancels its run and sends the error to the client
  virtual void on_disconnect() = 0;  // the client has disconnected
  virtual void send_heartbeat() {}   // sends a heartbeat to the client

 private:
  friend class ActiveResponders;
  std::optional<Heartbeats::iterator> beat_;
};

// The response to one chat request, whole or streamed. Pieces go directly from the run on the loop's thread
// to the client. The head of a stream waits for the first piece, so that it can name the model that answers.
// If the first heartbeat is due before that, the head is sent with it, without the model. An error before the
// first byte is a plain error response. A later error is sent as an event `error`, and the stream ends
// without [DONE]. If the client disconnects, the run is cancelled. If it reads slowly, reading from the
// upstream pauses.
class ChatResponder final : public ActiveResponder,
                            public inference::ChatSink,
                            public std::enable_shared_from_this<ChatResponder> {
 public:
  ChatResponder(Context& context, CallPtr call, schemas::ChatRequest request);

  // Any thread; never blocks. REQUIRES: Chat::check.
  void begin();

  void on_head(const inference::ChatHead& head) override;
  void on_piece(schemas::ChatPiece&& piece) override;
  void on_pause() override;
  bool is_ready() override;
  void before_sending(const inference::CallCost& cost, std::function<void(bool go)> go) override;
  void on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd,
                       const schemas::Charge& charged) override;
  void on_end(base::Result<inference::ChatResult> end) override;
  void cancel_with_error(const base::Error& why) override;
  void on_disconnect() override;
  void send_heartbeat() override;

 private:
  // All on the loop's thread.
  void start();
  void start_run();
  void open(std::string_view first);
  void drop_request();
  std::string with_unsent_text(std::string text);
  void send_end(base::Result<inference::ChatResult>&& end);
  void send_whole_reply(inference::ChatResult&& end);
  void send_error(const base::Error& error);
  void send_failure(const base::Error& error);
  void over();
  void count(const schemas::Charge& used);
  // Runs `f` on the loop's thread if this object still exists.
  std::function<void()> later(void (ChatResponder::*f)());
  void resume();

  Context& context_;
  const CallPtr call_;
  std::unique_ptr<schemas::ChatRequest> request_;  // null once `start` has run
  const bool stream_;
  const bool single_upstream_call_;  // the request is released once the stream has begun
  const schemas::ChatChunks::Options
      chunk_options_;  // usage_with_reason: if the answering provider reports it
  inference::ChatHead head_{.id = {}, .model = {}, .attempts = 0, .dropped = {}};
  std::optional<double> failures_cost_;
  const std::shared_ptr<RequestBudget> budget_;
  schemas::Charge used_;
  std::shared_ptr<inference::ChatRun> run_;
  std::optional<schemas::ChatChunks> chunks_;  // set: a model has started to answer the stream
  std::unique_ptr<front::Reply> opening_;      // the stream's head, until it is sent
  bool opened_ = false,
       opened_early_ = false;  // the head was sent; it was sent before the answering model was known
  std::string unsent_;         // text of the stream; sent with the next piece or by on_pause
  bool over_ = false;
};

// Owns all model responses in progress in this process. Thread-safe.
class ActiveResponders {
 public:
  explicit ActiveResponders(net::Loop& loop) : loop_(loop) {}
  ~ActiveResponders() { next_beat_.cancel(); }
  ActiveResponders(const ActiveResponders&) = delete;
  ActiveResponders& operator=(const ActiveResponders&) = delete;

  // Waits this long for running responses to finish. Then ends the others with an error, because the server
  // shuts down.
  void drain(std::chrono::milliseconds grace);
  // Cancels all without sending anything to the clients; none starts later. Blocks until all are cancelled,
  // not until the runs have ended (inference::Chat::stop does that). Must not run on the loop.
  void stop();

  // Loop thread. False: the server is shutting down.
  bool add(const std::shared_ptr<ActiveResponder>& responder);
  void remove(const std::shared_ptr<ActiveResponder>& responder);
  // Calls `responder.send_heartbeat` periodically until the responder is removed. One timer serves all of
  // them, so they share one period.
  void start_heartbeat(ActiveResponder& responder, std::chrono::milliseconds period);

 private:
  void end_all();
  void drop_all();
  void schedule_heartbeat();
  void send_due_heartbeats();

  net::Loop& loop_;
  // Loop thread only:
  std::unordered_set<std::shared_ptr<ActiveResponder>> open_;
  Heartbeats heartbeats_;
  std::chrono::milliseconds period_{0};
  bool awaits_beat_ = false;
  net::Loop::Timer grace_, next_beat_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool closed_ = false;
};

// 503 for a response that cannot begin, or is ended, during shutdown.
base::Error shutting_down();
// Reserves http.reply_budget for a reply of about `bytes`; the result goes into its `reservation`. Null for a
// small reply, which needs none. kOverloaded (reply_budget_exhausted): the budget is exhausted.
base::Result<std::shared_ptr<void>> reserve_reply(Context& context, std::size_t bytes);
// The head of a model's stream.
front::Reply model_stream_head();
// Ends a stream that has begun: sends `pending_text`, then an event `error`. If that cannot be written, cuts
// the connection. `model`: the model that was called last, for the log.
void fail_stream(Call& call, const base::Error& error, std::string_view model, std::string pending_text = {});
// Adds x-millrace-model, -attempts, -dropped-params and -cost-usd. Empty or zero values are omitted.
void add_chat_headers(front::Reply& reply, std::string_view model, int attempts, std::string_view dropped,
                      std::optional<double> cost_usd);

}  // namespace millrace::api
