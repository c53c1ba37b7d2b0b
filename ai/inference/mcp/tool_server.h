#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/base/result.h"
#include "platform/net/task.h"

namespace millrace::inference {

struct McpEndpoint {
  std::string name;  // shown: McpServerError::server_name, the prefix of its tools
  std::string url;
  std::string version;  // of the protocol, as the client wants it; empty: found out
  std::vector<std::pair<std::string, std::string>> headers;
  bool guarded = true;  // a client named it: the SSRF guard holds
};
struct McpTool {
  std::string name, description;
  std::string input_schema;  // a JSON object
};
struct McpOutcome {
  bool is_error = false;  // the tool says so: told to the model
  std::string text;       // what it answered, as the model is told it
};

// One server of tools: the seam of the turn loop. Loop thread only.
class ToolServer {
 public:
  virtual ~ToolServer() = default;
  // Errors: kFetchRefused (the guard), kUpstream, kUpstreamTimeout; kJobCancelled.
  virtual net::Task<base::Result<std::vector<McpTool>>> list_tools(net::Cancel& cancel) = 0;
  // `arguments`: a JSON object. A call whose answer is lost is not sent again: kUpstream. Several at a time.
  virtual net::Task<base::Result<McpOutcome>> call_tool(std::string name, std::string arguments,
                                                        net::Cancel& cancel) = 0;
  // Ends the session, if there is one; nobody waits for it.
  virtual void close() = 0;
};
using ToolServers = std::function<std::unique_ptr<ToolServer>(McpEndpoint)>;

}  // namespace millrace::inference
