#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "ai/inference/mcp/tool_server.h"
#include "platform/base/result.h"

// Lists of tools, as servers send them. Pure.
namespace millrace::inference {

inline constexpr std::size_t kMcpToolNameMax = 128;  // bytes

// An argument that the modern era also wants as a header (`x-mcp-header`).
struct McpParam {
  std::vector<std::string> path;  // through the `properties` of the schema
  std::string name;               // of the header, after "Mcp-Param-"
};
struct McpListedTool {
  McpTool tool;
  std::vector<McpParam> params;
};
struct McpToolPage {
  std::vector<McpListedTool> tools;
  std::string cursor;                                       // of the next page; empty: this is the last
  std::optional<std::chrono::milliseconds> fresh_for = {};  // as the server says; nullopt: it does not
};

// One page of tools/list. Left out are tools without a fit name, those whose schema is none of an object or
// is deeper than `schema_depth_max`, and those whose annotations break the rules of x-mcp-header. Errors:
// kUpstream.
base::Result<McpToolPage> read_mcp_tools(const nlohmann::json& result, int schema_depth_max);

// The headers of a call with `arguments`; an argument that is absent or null has none.
std::vector<std::pair<std::string, std::string>> mcp_param_headers(const std::vector<McpParam>& params,
                                                                   const nlohmann::json& arguments);

}  // namespace millrace::inference
