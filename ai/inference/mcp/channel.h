#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/mcp/messages.h"
#include "ai/inference/mcp/tool_server.h"
#include "platform/base/result.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http/http_client.h"
#include "platform/net/sse_reader.h"
#include "platform/net/task.h"

namespace millrace::inference {

inline constexpr int kMcpServerRequestsMax = 64;  // server requests in one reply

struct McpLimits {
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds list_timeout{30'000};        // connecting and listing, over all pages
  std::chrono::milliseconds initialize_timeout{10'000};  // part of it: creating a session
  // Part of initialize_timeout: waiting for the event `endpoint` of a server that may only have the version
  // 2024-11-05 (McpStream).
  std::chrono::milliseconds endpoint_timeout{3'000};
  std::chrono::milliseconds call_timeout{120'000};  // one call
  std::size_t reply_bytes_max = 8u << 20;           // one reply on the wire, and the tools of one server
  std::size_t stream_bytes_max = 64u << 20;         // one session whose responses arrive on one stream
  std::size_t result_bytes_max = 256u << 10;  // the text of a result; a longer one is cut, with a notice
  int tools_max = 512;                        // tools of one server
  int pages_max = 64;                         // pages of its tool list
  int schema_depth_max = 32;
};

using McpHeaders = std::vector<std::pair<std::string, std::string>>;
using McpDeadline = std::chrono::steady_clock::time_point;

struct McpPost {
  // The JSON-RPC id whose response this POST returns. 0: none; it is a notification, or the response arrives
  // on McpStream.
  std::int64_t id = 0;
  std::string url = {};  // on the same server; empty: the URL of the endpoint
  std::string body;
  McpHeaders headers;
  McpDeadline deadline;
  bool in_session = false;      // the server may send requests, and a broken stream can be resumed
  bool not_idempotent = false;  // never send it twice
};

struct McpReply {
  int status = 0;       // HTTP status
  std::string session;  // Mcp-Session-Id; empty: none
  McpMessage message;   // kResult, kError, or kNone: the body has no response
  std::string refusal;  // the beginning of the body of a reply that is no success and has no response
};

// True if the reply to a request in a session means that the server has no such session, and has thus
// not begun any work. Many servers answer 400, or 200 with an error without an id, instead of the 404 that
// the protocol requires. A 400 without a body is taken for one, too.
bool is_lost_session(const McpReply& reply);

// Reads the HTTP response to one request: JSON, or events of which one is the response. One thread at a time.
class McpResponseReader {
 public:
  // `id` of the request; 0: a notification, which has no response. `on_server_message` receives the requests
  // and notifications that the server sends before its response; null: they are ignored.
  McpResponseReader(std::int64_t id, std::size_t bytes_max,
                    std::function<void(const McpMessage&)> on_server_message);
  McpResponseReader(const McpResponseReader&) = delete;
  McpResponseReader& operator=(const McpResponseReader&) = delete;

  // A reply begins. Called once more when a broken stream is resumed.
  void begin(const net::HttpReply& head);
  bool take(std::string_view bytes);  // false: the response is complete; stop reading
  // The transfer has ended. Errors: kUpstream, kUpstreamTimeout, kFetchRefused.
  base::Result<McpReply> end(const base::Result<net::HttpReply>& transfer);
  // After `end`: the id of the last event before the stream broke off without the response. Empty: it did not
  // break off, or cannot be resumed.
  std::string resume_event_id() const;

 private:
  enum class BodyKind : std::uint8_t { kNone, kJson, kEvents, kForeign };
  void on_event(const net::SseEvent& event);
  void on_message(McpMessage message);
  bool answers(const McpMessage& message) const;
  base::Result<McpReply> whole_reply();
  base::Error transport_error(const base::Error& error) const;

  const std::int64_t id_;
  const std::size_t bytes_max_;
  const std::function<void(const McpMessage&)> on_server_message_;
  bool begun_ = false;
  BodyKind body_kind_ = BodyKind::kNone;
  std::string type_, body_;
  std::optional<net::SseReader> events_;
  std::optional<base::Error> error_;
  int requests_ = 0;
  bool answered_ = false, interrupted_ = false;
  McpReply reply_;
};

// HTTP with one tool server. If a client named the URL, the guard checks every connection. Redirects are not
// followed. Loop thread only; all references passed in outlive it.
class McpChannel {
 public:
  // `on_tools_changed`: the server reported that its list of tools has changed.
  McpChannel(net::Loop& loop, net::HttpClient& client, const net::FetchGuard& guard, McpEndpoint endpoint,
             const McpLimits& limits, std::function<void()> on_tools_changed);

  // Errors: kFetchRefused, kUpstream, kUpstreamTimeout; kJobCancelled.
  net::Task<base::Result<McpReply>> post(McpPost post, net::Cancel& cancel);
  // Sends a message and ignores the response; `url` as in McpPost.
  void send_detached(std::string method, McpHeaders headers, std::string body, const std::string& url = {});
  // Opens a GET of the endpoint that runs until the returned function is called. Errors: kFetchRefused.
  base::Result<std::function<void()>> listen(net::HttpClient::Handlers handlers, McpDeadline begin_by);
  void tools_changed() const { on_tools_changed_(); }
  const std::string& url() const { return endpoint_.url; }

 private:
  base::Result<net::HttpRequest> request(std::string method, McpHeaders headers, McpDeadline deadline,
                                         const std::string& url = {}) const;
  void on_message(const McpMessage& message, const McpPost& post);
  net::Task<base::Result<McpReply>> exchange(net::HttpRequest request,
                                             std::shared_ptr<McpResponseReader> reader, net::Cancel& cancel);

  net::Loop& loop_;
  net::HttpClient& client_;
  const net::FetchGuard& guard_;
  const McpEndpoint endpoint_;
  const McpLimits limits_;
  const std::function<void()> on_tools_changed_;
};

}  // namespace millrace::inference
