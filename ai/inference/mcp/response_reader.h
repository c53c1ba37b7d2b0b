#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ai/inference/mcp/wire.h"
#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/sse_reader.h"

namespace millrace::inference {

inline constexpr int kMcpServerRequestsMax = 64;  // server requests in one reply

struct McpReply {
  int status = 0;       // HTTP status
  std::string session;  // Mcp-Session-Id; empty: none
  McpMessage message;   // kResult, kError, or kNone: the body has no response
};

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
  enum class Body : std::uint8_t { kNone, kJson, kEvents, kForeign };
  void on_event(const net::SseEvent& event);
  void on_message(McpMessage message);
  bool answers(const McpMessage& message) const;
  base::Result<McpReply> whole();
  base::Error transport_error(const base::Error& error) const;

  const std::int64_t id_;
  const std::size_t bytes_max_;
  const std::function<void(const McpMessage&)> on_server_message_;
  bool begun_ = false;
  Body form_ = Body::kNone;
  std::string type_, body_;
  std::optional<net::SseReader> events_;
  std::optional<base::Error> fault_;
  int requests_ = 0;
  bool answered_ = false, interrupted_ = false;
  McpReply reply_;
};

}  // namespace millrace::inference
