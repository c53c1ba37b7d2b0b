#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/mcp/tool_server.h"
#include "ai/inference/media/local_speech.h"
#include "ai/inference/routing/breaker.h"
#include "ai/inference/routing/registry.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"

namespace millrace::inference {

struct ChatParts;
class Lanes;

// What is known when an answer begins (headers of ours).
struct ChatHead {
  std::string id;     // of the answer, in every form: "chatcmpl-…"; of what is no chat empty
  std::string model;  // x-millrace-model: the name in the registry of who answers
  int attempts = 1;   // x-millrace-attempts: calls to upstreams, this one included, over all targets
  schemas::DroppedParams dropped;
  bool reports_usage = false;  // who answers ends its streams with usage, asked or not
};
struct ChatEnd {
  schemas::ChatReply reply;  // of a stream without choices: usage, tools and facts
  std::optional<double> cost_usd;
};

// Who hears an answer. Loop thread; must not block. The sink outlives the run, or cancels it first.
class ChatSink {
 public:
  virtual ~ChatSink() = default;
  // Once, before the first piece or with the end, of a stream also before tools of servers are run; not
  // before an error that comes first.
  virtual void on_head(const ChatHead& head) = 0;
  virtual void on_piece(schemas::ChatPiece&& piece) = 0;  // streams only
  // After all pieces that have come at once: who has gathered them sends them now. Not before the end.
  virtual void on_pause() {}
  virtual bool is_ready() { return true; }  // streams only; false: until ChatRun::resume
  // Directly before each call goes out, be it a retry, a fallback, or one of several at a time (deferred jobs
  // look at their lease and write the first down); `go` once, later too. false ends the run.
  virtual void before_sending(std::function<void(bool go)> go) { go(true); }
  // Directly before an error of on_end that calls have led to: of the last of them, and what all have cost.
  virtual void on_failed_calls(const ChatHead&, std::optional<double> /*cost_usd*/) {}
  virtual void on_end(base::Result<ChatEnd> end) = 0;  // once, last; not after a cancel
};

// What is no chat: who was asked last, after how many calls, and what they have cost.
struct MediaEnd {
  ChatHead head;
  std::optional<double> cost_usd;
};

// One request under way. Loop thread only.
class ChatRun {
 public:
  virtual ~ChatRun() = default;
  // Of what is no chat, also after its end: nullopt: nobody was asked. Of a chat, see ChatSink.
  virtual std::optional<MediaEnd> calls() const { return std::nullopt; }
  virtual void cancel() = 0;  // the upstream is let go at once; nothing is heard any more
  virtual void resume() = 0;
};

struct ChatOptions {
  int tries_max = 3;  // calls per target before the next fallback
  std::chrono::milliseconds retry_base{250}, retry_cap{8'000};
  std::chrono::milliseconds retry_after_max{20'000};  // an upstream that wants more is left for a fallback
  std::chrono::milliseconds retry_window{60'000};     // after the request's begin; no retry begins later
  std::size_t continuity_bytes_max = 32u << 20;       // what providers want to see again (kContinuity)
};

// The error of an answer that broke its strict schema: `tries` and fallbacks have been used up for it, and
// the request sent again would only be paid for again.
bool breaks_schema(const base::Error& error);

// Answers chat requests: routing, fallbacks, retries before the first piece, circuit breaker, limits, price,
// server-side tools. Thread-safe to construct and to reload; everything else on the loop's thread.
class Chat {
 public:
  // All outlive it, and every run has ended before (`stop`).
  struct Dependencies {
    net::Loop& loop;
    net::HttpClient& client;
    const net::FetchGuard& guard;  // of URLs that clients name
    base::Pool& pool;              // large requests and replies are translated there
    base::Metrics& metrics;
    ToolServers tool_servers;  // makes an McpClient; null: servers of tools are errors
    LocalSpeech local_speech = {};
  };
  Chat(Dependencies dependencies, RegistryPtr registry, ChatOptions options = {});
  ~Chat();
  Chat(const Chat&) = delete;
  Chat& operator=(const Chat&) = delete;

  // What can be known at once, before a job is made or a byte is sent: models that exist, response_format's
  // rule, `strict` against the parameter table, slugs of MCP servers, URLs that providers are to fetch, a
  // schema of response_format that is strict. Thread-safe.
  base::Status check(const schemas::ChatRequest& request) const;
  // The registry name that routing prefers now. REQUIRES: check. Thread-safe.
  std::string first_choice(const schemas::ChatRequest& request) const;

  std::shared_ptr<ChatRun> start(schemas::ChatRequest request, ChatSink& sink);

  // Cancels all runs, those of a Media too, and waits until none is left that uses what this stands on; none
  // may begin later. False: not within `bound`. Blocks; not on the loop, which must run. Idempotent.
  bool stop(std::chrono::milliseconds bound = std::chrono::seconds(10));

  // Of deferred requests. Thread-safe.
  std::shared_ptr<Lanes> lanes() const;
  // Each target that is configured, and each open one that has been used lately. Thread-safe.
  std::vector<TargetHealth> health() const;
  RegistryPtr registry() const;       // thread-safe
  void reload(RegistryPtr registry);  // thread-safe; requests under way keep theirs

 private:
  friend class Media;
  std::shared_ptr<ChatParts> parts_;
};

}  // namespace millrace::inference
