#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ai/inference/mcp/response_reader.h"
#include "ai/inference/mcp/tool_server.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http/http_client.h"
#include "platform/net/task.h"

namespace millrace::inference {

struct McpLimits {
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds list_timeout{30'000};      // of connecting and listing, over all pages
  std::chrono::milliseconds greeting_timeout{10'000};  // of that the making of a session
  // Of that the wait for the first event of a server that refused `initialize`: it may be of the first
  // version.
  std::chrono::milliseconds place_timeout{3'000};
  std::chrono::milliseconds call_timeout{120'000};  // of one call
  std::size_t reply_bytes_max = 8u << 20;           // of one reply on the wire, and of a server's tools
  std::size_t stream_bytes_max = 64u << 20;         // of a conversation whose answers come in one stream
  std::size_t result_bytes_max = 256u << 10;  // of a result's text as the model is told it; cut, and said so
  int tools_max = 512;                        // of one server
  int pages_max = 64;                         // of its list of tools
  int schema_depth_max = 32;
};

using McpHeaders = std::vector<std::pair<std::string, std::string>>;
using McpDeadline = std::chrono::steady_clock::time_point;

struct McpPost {
  std::int64_t id = 0;   // of the request; 0: a notification, or the answer comes elsewhere
  std::string url = {};  // of the same server; empty: the endpoint's
  std::string body;
  McpHeaders headers;
  McpDeadline deadline;
  bool in_session = false;  // the server may ask in return, and a broken stream can be resumed
  bool once = false;        // sent a second time it could do harm
};

// HTTP with one server of tools: every connection vetted by the guard where a client named the URL; redirects
// not followed. Loop thread only; what it is given by reference outlives it.
class McpChannel {
 public:
  // `on_tools_changed`: the server says that its list of tools is another now.
  McpChannel(net::Loop& loop, net::HttpClient& client, const net::FetchGuard& guard, McpEndpoint endpoint,
             const McpLimits& limits, std::function<void()> on_tools_changed);

  // Errors: kFetchRefused, kUpstream, kUpstreamTimeout; kJobCancelled.
  net::Task<base::Result<McpReply>> post(McpPost post, net::Cancel& cancel);
  // Sends what nobody waits for; `url` as McpPost's.
  void send_detached(std::string method, McpHeaders headers, std::string body, const std::string& url = {});
  // A GET of the endpoint that goes on until it is let go, by calling what is returned. Errors:
  // kFetchRefused.
  base::Result<std::function<void()>> listen(net::HttpClient::Handlers handlers, McpDeadline begun_by);
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
