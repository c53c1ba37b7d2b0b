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
  std::string name;  // shown to clients: McpServerError::server_name, the prefix of its tools
  std::string url;
  std::string version;  // protocol version that the client requests; empty: detected
  std::vector<std::pair<std::string, std::string>> headers;
  bool guarded = true;  // a client named the URL, so the SSRF guard applies
};
struct McpTool {
  std::string name, description;
  std::string input_schema;  // a JSON object
};
// A listed tool that is not offered to the model.
struct McpLeftOutTool {
  std::string name;  // sanitized, cut to 64 bytes; empty: none
  std::string reason;
};
struct McpTools {
  std::vector<McpTool> tools;
  std::vector<McpLeftOutTool> left_out;
};
struct McpOutcome {
  bool is_error = false;              // the tool reported an error; passed to the model
  std::string text;                   // the result as sent to the model
  std::vector<std::string> pictures;  // its images as data URIs, for models that see; `text` describes them
};

// Interface of one tool server, used by ToolLoop. Loop thread only.
class ToolServer {
 public:
  virtual ~ToolServer() = default;
  // Errors: kFetchRefused (the guard), kUpstream, kUpstreamTimeout; kJobCancelled.
  virtual net::Task<base::Result<McpTools>> list_tools(net::Cancel& cancel) = 0;
  // `arguments`: a JSON object. If the response is lost, the call is not sent again: kUpstream. Several calls
  // may run concurrently.
  virtual net::Task<base::Result<McpOutcome>> call_tool(std::string name, std::string arguments,
                                                        net::Cancel& cancel) = 0;
  // Ends the session, if there is one. Does not wait for the response.
  virtual void close() = 0;
};
// app/components/inference_component makes an McpClient.
using MakeToolServer = std::function<std::unique_ptr<ToolServer>(McpEndpoint)>;

}  // namespace millrace::inference
