#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ai/inference/chat/chat_shared.h"

namespace millrace::inference {

// Names of server tools as sent to the model: `server__tool`, made of [a-zA-Z0-9_-], at most 64 characters,
// unique. The same names in the same order give the same result.
class ToolNames {
 public:
  static constexpr std::size_t kNameMax = 64;

  void reserve(std::string name) { taken_.insert(std::move(name)); }  // reserves a name of a client tool
  std::string name(std::string_view server, std::string_view tool);

 private:
  std::set<std::string> taken_;
};

// The tools of the servers that one request names. If a server fails, the report lists it and the request
// continues without it. Loop thread only.
class ToolBox {
 public:
  static constexpr std::size_t kCallsAtOnce = 8;
  static constexpr std::size_t kCallsPerTurn = 64;          // further calls get an error as their result
  static constexpr std::size_t kResultBytesMax = 8u << 20;  // of all results of a request; the same beyond it
  ToolBox(ChatShared& shared, const Registry& registry, net::Cancel& cancel)
      : shared_(shared), registry_(registry), cancel_(cancel) {}
  ~ToolBox();  // closes the sessions
  ToolBox(const ToolBox&) = delete;
  ToolBox& operator=(const ToolBox&) = delete;

  // Lists the tools of all servers concurrently and adds them to the tools of the request. The same servers
  // always give the same order.
  net::Task<void> open(schemas::ChatRequest& request, schemas::ToolReport& report);
  bool has(const std::string& name) const { return tools_.contains(name); }
  // The results, in the order of the calls. If a call fails or exceeds a bound, its result is a text that
  // reports this to the model.
  net::Task<std::vector<schemas::ToolResult>> call(std::vector<schemas::ToolCall> calls,
                                                   schemas::ToolReport& report);

 private:
  struct Server {
    std::string name;
    std::unique_ptr<ToolServer> client;
    McpTools listed = {};
    base::Status list_status = {};
  };
  struct Tool {
    std::size_t server;
    std::string name;  // on its server
  };
  base::Result<McpEndpoint> endpoint_of(const schemas::McpServerRef& ref) const;
  std::string unique_name(std::string name) const;
  void connect(const schemas::McpServerRef& ref, schemas::ToolReport& report);
  net::Task<void> list(Server& server);
  void add_tools(schemas::ChatRequest& request, schemas::ToolReport& report);
  net::Task<void> call_one(const schemas::ToolCall& call, schemas::McpToolResult& mcp_result);
  const Tool& describe(const schemas::ToolCall& call, schemas::McpToolResult& mcp_result) const;
  void refuse_excess_call(const schemas::ToolCall& call, schemas::McpToolResult& mcp_result) const;
  void bound_bytes(schemas::McpToolResult& mcp_result);

  ChatShared& shared_;
  const Registry& registry_;
  net::Cancel& cancel_;
  std::vector<Server> servers_;
  std::size_t result_bytes_ = 0;       // of all turns
  std::map<std::string, Tool> tools_;  // by the name that is sent to the model
};

}  // namespace millrace::inference
