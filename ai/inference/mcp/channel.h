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
  std::chrono::milliseconds list_timeout{30'000};        // connecting and listing, over all pages
  std::chrono::milliseconds initialize_timeout{10'000};  // part of it: creating a session
  // Part of that: waiting for the first event of a server that refused `initialize`, because it may use the
  // first version of the protocol.
  std::chrono::milliseconds place_timeout{3'000};
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
  std::int64_t id = 0;   // of the request; 0: a notification, or the response arrives elsewhere
  std::string url = {};  // on the same server; empty: the URL of the endpoint
  std::string body;
  McpHeaders headers;
  McpDeadline deadline;
  bool in_session = false;  // the server may send requests, and a broken stream can be resumed
  bool once = false;        // not idempotent: never send it twice
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
