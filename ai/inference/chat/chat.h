#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/mcp/tool_server.h"
#include "ai/inference/media/local_speech.h"
#include "ai/inference/routing/breaker.h"
#include "ai/inference/routing/price.h"
#include "ai/inference/routing/registry.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::inference {

struct ChatShared;
class Lanes;

// Known when an answer begins; sent to the client as response headers.
struct ChatHead {
  std::string id;     // "chatcmpl-…", the same in every response format; empty for media requests
  std::string model;  // x-millrace-model: the registry name of the answering model
  int attempts = 1;   // x-millrace-attempts: upstream calls over all targets, including this one
  schemas::DroppedParams dropped;
  bool reports_usage = false;  // the upstream ends its streams with usage even if not requested
};
struct ChatResult {
  schemas::ChatReply reply;  // for a stream: without choices, only usage, tools and facts
  std::optional<double> cost_usd;
  schemas::Charge charged = {};  // as ChatRun::charged
};

// Called directly before each upstream call, including retries, fallbacks and concurrent calls. `go` is
// called once, now or later; `false` ends the run. Loop thread; must not block.
using BeforeSending = std::function<void(const CallCost& cost, std::function<void(bool go)> go)>;

// Receives an answer. Loop thread; must not block. The sink outlives the run or cancels it first.
class ChatSink {
 public:
  virtual ~ChatSink() = default;
  // Called once, before whichever comes first: the first piece, the first tools of a stream, on_end with a
  // result. Not called if the request fails before.
  virtual void on_head(const ChatHead& head) = 0;
  virtual void on_piece(schemas::ChatPiece&& piece) = 0;  // streams only
  // Called after each batch of pieces that arrived together. A sink that buffers pieces sends them now. The
  // last batch may be followed directly by on_end.
  virtual void on_pause() {}
  virtual bool is_ready() { return true; }  // streams only; false pauses until ChatRun::resume
  // See BeforeSending. Deferred jobs check their lease here and record the first call; tenants with a budget
  // decide whether it may cost as much.
  virtual void before_sending(const CallCost& /*cost*/, std::function<void(bool go)> go) { go(true); }
  // Called directly before on_end reports an error that follows from upstream calls. The head is that of the
  // last call; the cost is that of all calls, and so is `charged` (as ChatRun::charged).
  virtual void on_failed_calls(const ChatHead&, std::optional<double> /*cost_usd*/,
                               const schemas::Charge& /*charged*/) {}
  // Once, last; not after a cancel. If it throws on a result, it gets an error instead.
  virtual void on_end(base::Result<ChatResult> end) = 0;
};

// The end of a media request. `head` is that of the last call; the cost is that of all calls.
struct MediaResult {
  ChatHead head;
  std::optional<double> cost_usd;
  schemas::Charge charged = {};  // as ChatRun::charged
};

// One request in progress. Loop thread only.
class ChatRun {
 public:
  virtual ~ChatRun() = default;
  // Media requests only, also after the end; for a chat, see ChatSink. nullopt: no upstream was called.
  virtual std::optional<MediaResult> calls() const { return std::nullopt; }
  // What all calls so far are charged with, also after a cancel and after the end. Cost: known costs, and the
  // maximum of every sent call whose cost is unknown: it has not ended, timed out, was cancelled, lost its
  // connection, or reported no usage. Tokens: as reported; of such calls an estimate of the prompt and of
  // what was received. A call that ended with an HTTP error status costs nothing and has no tokens; one of a
  // model without a price costs nothing.
  virtual schemas::Charge charged() const { return {}; }
  virtual void cancel() = 0;  // closes the upstream connection at once; no callback follows
  virtual void resume() = 0;
};

struct ChatOptions {
  int tries_max = 3;  // calls per target before the next target is tried
  std::chrono::milliseconds retry_base{250}, retry_cap{8'000};
  std::chrono::milliseconds retry_after_max{20'000};  // a longer Retry-After leads to a fallback
  std::chrono::milliseconds retry_window{60'000};     // from the start of the request; no retry starts later
  std::size_t reasoning_state_bytes_max = 32u << 20;  // size of the ReasoningStateCache
};

// True if the error means that answers broke the strict schema. All tries and fallbacks have been used;
// repeating the request would only add cost.
bool breaks_schema(const base::Error& error);

// Answers chat requests: routing, fallbacks, retries before the first piece, circuit breaker, limits, price,
// server-side tools. The constructor and `reload` are thread-safe. Everything else runs on the loop's thread
// unless noted.
class Chat {
 public:
  // All of these outlive the Chat. Every run has ended before they are destroyed (`stop`).
  struct Dependencies {
    net::Loop& loop;
    net::HttpClient& client;
    const net::FetchGuard& guard;  // checks URLs that clients send
    base::Pool& pool;              // translates large requests and replies
    base::Metrics& metrics;
    MakeToolServer make_tool_server;  // app: makes an McpClient; null: requests with tool servers fail
    LocalSpeech local_speech = {};
  };
  Chat(Dependencies dependencies, RegistryPtr registry, ChatOptions options = {});
  ~Chat();
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;

  // Checks that need no I/O, made before a job is created or a byte is sent: the models exist, the rule for
  // response_format, `strict` against the parameter table, the slugs of MCP servers, the URLs that providers
  // will fetch, the strict schema of response_format. Thread-safe.
  base::Status check(const schemas::ChatRequest& request) const;
  // The registry name of the model that routing prefers now. REQUIRES: check. Thread-safe.
  std::string first_choice(const schemas::ChatRequest& request) const;
  // The most that one upstream call for the request may cost, over all models that may answer. REQUIRES:
  // check. True only if the request has `cap_output`. Thread-safe.
  CostBound max_cost(const schemas::ChatRequest& request) const;

  std::shared_ptr<ChatRun> start(schemas::ChatRequest request, ChatSink& sink);

  // Cancels all runs, including those of Media, and waits until none of them uses the dependencies. No run
  // may start afterwards. Returns false if this takes longer than `bound`. Blocks: never call it on the loop,
  // which must keep running. Idempotent.
  bool stop(std::chrono::milliseconds bound = std::chrono::seconds(10));

  // Lanes of deferred requests. Thread-safe.
  std::shared_ptr<Lanes> lanes() const;
  // Every configured target, and every recently used target of an open provider. Thread-safe.
  std::vector<TargetHealth> health() const;
  RegistryPtr registry() const;       // thread-safe
  void reload(RegistryPtr registry);  // thread-safe; running requests keep the old registry

 private:
  friend class MediaClient;
  std::shared_ptr<ChatShared> shared_;
};

}  // namespace millrace::inference
