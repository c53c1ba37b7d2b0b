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
  std::string name = {};    // of the tool, if it is about one
  McpHeaders headers = {};  // for the modern era alone
  bool once = false;        // sent a second time it could do harm
};

// The era of a server's protocol, found out by the first request and remembered, and its session if that era
// has them. A session that the server has forgotten is made anew, once per request. Loop thread only.
class McpSession {
 public:
  // `version` of the protocol; empty: found out. `remembered`: the era of an earlier conversation; if it is
  // not the server's any more, it is found out anew.
  McpSession(net::Loop& loop, McpChannel& channel, const McpLimits& limits, std::string version,
             McpTransport remembered);

  // The result of a request. The first one is sent a second time if the server turns out to be of another era
  // than the modern one. Errors: kInvalidField (no version that is known here), and those of McpChannel.
  net::Task<base::Result<nlohmann::json>> call(McpCall call, McpDeadline deadline, net::Cancel& cancel);
  McpTransport era() const { return era_; }
  bool was_renewed() const { return sessions_ > 1; }  // the server had forgotten one
  // Ends the session, if there is one; nobody waits for it.
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
  net::Task<base::Result<McpReply>> greet(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Status> confirm(McpDeadline deadline, net::Cancel& cancel);
  net::Task<base::Result<McpReply>> send(McpPost post, net::Cancel& cancel);
  bool may_speak_in_a_stream(const McpReply& refusal) const;
  bool has_session() const { return era_ == McpTransport::kStream ? stream_.is_open() : sessions_ > 0; }
  base::Status take_session(const nlohmann::json& initialized, const std::string& session);

  McpChannel& channel_;
  const McpLimits& limits_;
  McpStream stream_;
  const bool version_given_;
  std::string version_;  // that we ask for
  McpTransport era_ = McpTransport::kUnknown;
  bool remembered_ = false;  // the era, from before
  std::int64_t last_id_ = 0;
  // Of the era of sessions.
  std::string agreed_version_, session_;  // what was agreed on
  int sessions_ = 0;                      // made so far
  bool renewing_ = false;
  std::vector<std::function<void(base::Status)>> waiting_;  // for the session that is being made
};

}  // namespace millrace::inference
