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
#include "platform/net/loop.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::api {

class OpenAnswer;

// Which answers say that they are still there, and when next. The first comes first.
struct Heartbeat {
  std::chrono::steady_clock::time_point due;
  OpenAnswer* answer;
};
using Heartbeats = std::list<Heartbeat>;

// An answer that is worked on on the loop. Loop thread only.
class OpenAnswer {
 public:
  virtual ~OpenAnswer() = default;
  virtual void give_up(const base::Error& why) = 0;  // what runs for it ends; the client is told
  virtual void leave() = 0;                          // the client has gone
  virtual void beat() {}                             // tells its client that it is still there

 private:
  friend class ChatAnswers;
  std::optional<Heartbeats::iterator> beat_;
};

// The answer to one chat request, whole or in pieces, straight from the run on the loop's thread to the
// client. A stream's head leaves with its first piece, or with the first heartbeat if that comes sooner: it
// cannot say then who answers. What goes wrong before the first byte is a plain error; after it, an event
// `error`, and the stream ends without [DONE]. A client that leaves ends the run, one that reads slowly makes
// the upstream wait.
class ChatAnswer final : public OpenAnswer,
                         public inference::ChatSink,
                         public std::enable_shared_from_this<ChatAnswer> {
 public:
  ChatAnswer(Context& context, CallPtr call, schemas::ChatRequest request);

  // Any thread; never blocks. REQUIRES: Chat::check.
  void begin();

  void on_head(const inference::ChatHead& head) override;
  void on_piece(schemas::ChatPiece&& piece) override;
  void on_pause() override;
  bool is_ready() override;
  void on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd) override;
  void on_end(base::Result<inference::ChatEnd> end) override;
  void give_up(const base::Error& why) override;
  void leave() override;
  void beat() override;

 private:
  // All on the loop's thread.
  void start();
  void open(std::string_view first);
  void drop_request();
  std::string with_unsaid(std::string text);
  void send_end(base::Result<inference::ChatEnd>&& end);
  void send_whole_reply(inference::ChatEnd&& end);
  void send_error(const base::Error& error);
  void send_failure(const base::Error& error);
  void over();
  // Runs `f` on the loop's thread if this is still there.
  std::function<void()> later(void (ChatAnswer::*f)());
  void resume();

  Context& context_;
  const CallPtr call_;
  std::unique_ptr<schemas::ChatRequest> request_;  // null once `start` has run
  const bool stream_;
  const bool requested_once_;  // once the stream has begun, nobody holds the request any more
  const schemas::ChatChunks::Options chunk_options_;  // usage_with_reason: if who answers tells it
  inference::ChatHead head_{.id = {}, .model = {}, .attempts = 0, .dropped = {}};
  std::optional<double> failures_cost_;
  std::shared_ptr<inference::ChatRun> run_;
  std::optional<schemas::ChatChunks> chunks_;   // set: somebody answers the stream
  std::unique_ptr<front::Reply> opening_;       // its head, until it leaves
  bool opened_ = false, opened_early_ = false;  // the head has left; before it was known who answers
  std::string unsent_;                          // of it: what comes at once leaves at once
  bool over_ = false;
};

// All answers of models of this process under way: owns them while they last. Thread-safe.
class ChatAnswers {
 public:
  explicit ChatAnswers(net::Loop& loop) : loop_(loop) {}
  ~ChatAnswers() { next_beat_.cancel(); }
  ChatAnswers(const ChatAnswers&) = delete;
  ChatAnswers& operator=(const ChatAnswers&) = delete;

  // Running answers may end by themselves for this long; then they end with an error: the server shuts down.
  void drain(std::chrono::milliseconds grace);
  // Cancels all and sends nothing to the clients; none starts later. Blocks until that is done, not until the
  // runs have ended (inference::Chat::stop). Not on the loop.
  void stop();

  // Loop thread. False: the server shuts down.
  bool add(const std::shared_ptr<OpenAnswer>& answer);
  void remove(const std::shared_ptr<OpenAnswer>& answer);
  // Calls `answer.beat` every so often, until it is removed; over one timer for all, which therefore have the
  // same period.
  void keep_beating(OpenAnswer& answer, std::chrono::milliseconds period);

 private:
  void end_all();
  void drop_all();
  void await_beat();
  void beat_those_due();

  net::Loop& loop_;
  // Loop thread only:
  std::unordered_set<std::shared_ptr<OpenAnswer>> open_;
  Heartbeats heartbeats_;
  std::chrono::milliseconds period_{0};
  bool awaits_beat_ = false;
  net::Loop::Timer grace_, next_beat_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool closed_ = false;
};

// 503: an answer that cannot begin, or is given up, at drain.
base::Error shutting_down();
// What a reply of about `bytes` takes of http.reply_budget, for its `hold`; null: a small one takes nothing.
// kOverloaded (replies_full).
base::Result<std::shared_ptr<void>> reserve_reply(Context& context, std::size_t bytes);
// How a model's stream begins.
front::Reply model_stream_head();
// Ends one that has begun: `unsaid`, then an event `error`; cut where that cannot be written. `model`: who
// was asked last, for the log.
void fail_stream(Call& call, const base::Error& error, std::string_view model, std::string unsaid = {});
// x-millrace-model, -attempts, -dropped-params, -cost-usd; what is empty or 0 is left out.
void add_chat_headers(front::Reply& reply, std::string_view model, int attempts, std::string_view dropped,
                      std::optional<double> cost_usd);

}  // namespace millrace::api
