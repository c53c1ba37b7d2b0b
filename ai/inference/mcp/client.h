#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/mcp/cache.h"
#include "ai/inference/mcp/channel.h"
#include "ai/inference/mcp/tool_server.h"
#include "platform/base/result.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/http/http_client.h"
#include "platform/net/task.h"

namespace millrace::inference {

// One tool server over HTTP, with any version of the protocol. The cache has what earlier sessions found
// out about the server, so listing its tools may need no request. Loop thread only.
class McpClient final : public ToolServer {
 public:
  // All dependencies outlive this and its calls.
  struct Dependencies {
    net::Loop& loop;
    net::HttpClient& client;
    const net::FetchGuard& guard;
    McpCache& cache;
  };
  McpClient(const Dependencies& dependencies, McpEndpoint endpoint, McpLimits limits = {});
  ~McpClient() override;

  net::Task<base::Result<McpTools>> list_tools(net::Cancel& cancel) override;
  net::Task<base::Result<McpOutcome>> call_tool(std::string name, std::string arguments,
                                                net::Cancel& cancel) override;
  void close() override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::inference
