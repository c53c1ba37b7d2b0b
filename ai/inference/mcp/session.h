#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ai/inference/mcp/cache.h"
#include "ai/inference/mcp/channel.h"
#include "ai/inference/mcp/stream.h"
#include "schemas/json/json.h"

namespace millrace::inference {

struct McpCall {
  std::string method;
  schemas::Json params = schemas::Json::object();
  std::string name = {};        // of the tool, if the call is about one
  McpHeaders headers = {};      // only sent without a session
  bool not_idempotent = false;  // never send it twice
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

  // Sends a request and returns its result. The first request shows which transport the server uses: if the
  // server refuses the request without a session, it is sent again in a session. Errors: kInvalidField
  // (unsupported version), and those of McpChannel.
  net::Task<base::Result<schemas::Json>> call(McpCall call, McpDeadline deadline, net::Cancel& cancel);
  McpTransport transport() const { return stream_.in_use() ? McpTransport::kHttpSse : transport_; }
  bool was_renewed() const { return sessions_ > 1; }  // the server had lost a session
  // Ends the session, if there is one. Does not wait for the response.
  void close();

 private:
  void set_transport(McpTransport transport);
  McpPost stateless_post(const McpCall& call, McpDeadline deadline);
  McpPost session_post(const McpCall& call, McpDeadline deadline);
  McpHeaders session_headers() const;
  net::Task<base::Result<schemas::Json>> discover(McpCall call, McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Result<schemas::Json>> call_in_session(McpCall call, McpDeadline deadline,
                                                         net::Cancel& cancel);
  net::Task<base::Status> renew(int lost_session, McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Status> initialize(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Status> make_session(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Result<McpReply>> request_initialize(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Status> send_initialized(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Result<McpReply>> send(McpPost post, net::Cancel& cancel);
  bool has_session() const { return stream_.in_use() ? stream_.is_open() : sessions_ > 0; }
  base::Status accept_session(const schemas::Json& initialized, const std::string& session);

  McpChannel& channel_;
  const McpLimits& limits_;
  McpStream stream_;
  const bool version_given_;
  std::string version_;                              // the version to request
  McpTransport transport_ = McpTransport::kUnknown;  // kHttpSse: kSessions, and stream_ in use
  bool remembered_ = false;                          // the transport is that of an earlier session
  std::int64_t last_id_ = 0;
  // Only for kSessions.
  std::string agreed_version_, session_;  // the negotiated version, and the session id
  int sessions_ = 0;                      // created so far
  bool renewing_ = false;
  std::vector<std::function<void(base::Status)>> renewal_waiters_;  // for the session that is being created
};

}  // namespace millrace::inference
