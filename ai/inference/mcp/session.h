#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ai/inference/mcp/channel.h"
#include "ai/inference/mcp/memory.h"
#include "ai/inference/mcp/stream.h"

namespace millrace::inference {

struct McpCall {
  std::string method;
  nlohmann::json params = nlohmann::json::object();
  std::string name = {};    // of the tool, if the call is about one
  McpHeaders headers = {};  // for the modern transport only
  bool once = false;        // not idempotent: never send it twice
};

// Detects the transport of a server with the first request and remembers it. Keeps the session if the
// transport has one. If the server has lost the session, creates a new one, once per request. Loop thread
// only.
class McpSession {
 public:
  // `version` of the protocol; empty: detected. `remembered`: the transport of an earlier session; if the
  // server no longer uses it, it is detected once more.
  McpSession(net::Loop& loop, McpChannel& channel, const McpLimits& limits, std::string version,
             McpTransport remembered);

  // Sends a request and returns its result. If the server does not use the modern transport, the first
  // request is sent a second time. Errors: kInvalidField (unsupported version), and those of McpChannel.
  net::Task<base::Result<nlohmann::json>> call(McpCall call, McpDeadline deadline, net::Cancel& cancel);
  McpTransport transport() const { return transport_; }
  bool was_renewed() const { return sessions_ > 1; }  // the server had lost a session
  // Ends the session, if there is one. Does not wait for the response.
  void close();

 private:
  McpPost modern_post(const McpCall& call, McpDeadline deadline);
  McpPost legacy_post(const McpCall& call, McpDeadline deadline);
  McpHeaders session_headers() const;
  net::Task<base::Result<nlohmann::json>> discover(McpCall call, McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Result<nlohmann::json>> call_in_session(McpCall call, McpDeadline deadline,
                                                          net::Cancel& cancel);
  net::Task<base::Status> renew(int used, McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Status> initialize(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Status> make_session(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Result<McpReply>> request_initialize(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Status> confirm(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Result<McpReply>> send(McpPost post, net::Cancel& cancel);
  bool may_use_event_stream(const McpReply& refusal) const;
  bool has_session() const { return transport_ == McpTransport::kStream ? stream_.is_open() : sessions_ > 0; }
  base::Status take_session(const nlohmann::json& initialized, const std::string& session);

  McpChannel& channel_;
  const McpLimits& limits_;
  McpStream stream_;
  const bool version_given_;
  std::string version_;  // the version to request
  McpTransport transport_ = McpTransport::kUnknown;
  bool remembered_ = false;  // the transport is that of an earlier session
  std::int64_t last_id_ = 0;
  // Only for kSessions.
  std::string agreed_version_, session_;  // the negotiated version, and the session id
  int sessions_ = 0;                      // created so far
  bool renewing_ = false;
  std::vector<std::function<void(base::Status)>> waiting_;  // for the session that is being created
};

}  // namespace millrace::inference
