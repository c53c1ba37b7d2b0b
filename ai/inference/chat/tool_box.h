#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ai/inference/chat/chat_shared.h"
#include "ai/providers/unique_names.h"

namespace millrace::inference {

// Names of server tools as sent to the model: `server__tool`, made of [a-zA-Z0-9_-], at most 64 characters,
// unique. The same names in the same order give the same result.
class ToolNames {
 public:
  static constexpr std::size_t kNameMax = 64;

  void reserve(std::string_view name) { names_.take(name); }  // reserves a name of a client tool
  std::string name(std::string_view server, std::string_view tool);

 private:
  providers::UniqueNames names_{kNameMax};
};

// The tools of the servers that one request names. If a server fails, the report lists it and the request
// continues without it. Loop thread only.
class ToolBox {
 public:
  static constexpr std::size_t kCallsAtOnce = 8;
  static constexpr std::size_t kCallsPerTurn = 64;  // further calls get an error as their result
  // Of the texts of all results of a request; the same beyond it.
  static constexpr std::size_t kResultBytesMax = 8u << 20;
  static constexpr std::size_t kPictureBytesMax = 8u << 20;  // of their pictures; more are left out
  ToolBox(ChatShared& shared, const Registry& registry, net::Cancel& cancel)
      : shared_(shared), registry_(registry), cancel_(cancel) {}
  ~ToolBox();  // closes the sessions
  ToolBox(const ToolBox&) = delete;
  ToolBox& operator=(const ToolBox&) = delete;

  // Lists the tools of all servers concurrently and adds them to the tools of the request. The same servers
  // always give the same order.
  net::Task<void> open(schemas::ChatRequest& request, schemas::ToolReport& report);
  bool has(const std::string& name) const { return tools_.contains(name); }
  // The client's request defines such a tool.
  bool is_of_client(const std::string& name) const { return client_tools_.contains(name); }
  // The results, in the order of the calls. If a call fails, exceeds a bound or names no tool, its result is
  // a text that reports this to the model.
  net::Task<std::vector<schemas::ToolResult>> call(std::vector<schemas::ToolCall> calls,
                                                   schemas::ToolReport& report);
  // Reports calls that are not run.
  void skip(const std::vector<schemas::ToolCall>& calls, std::string_view reason,
            schemas::ToolReport& report) const;

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
  void refuse_call(const schemas::ToolCall& call, std::string_view why,
                   schemas::McpToolResult& mcp_result) const;
  std::string no_tool(const std::string& name) const;
  void bound_bytes(schemas::McpToolResult& mcp_result);

  ChatShared& shared_;
  const Registry& registry_;
  net::Cancel& cancel_;
  std::vector<Server> servers_;
  std::size_t result_bytes_ = 0;       // of all turns
  std::size_t picture_bytes_ = 0;      // the same
  std::map<std::string, Tool> tools_;  // by the name that is sent to the model
  std::set<std::string> client_tools_;
};

}  // namespace millrace::inference
