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

// Reads tool lists from servers. Pure functions.
namespace millrace::inference {

inline constexpr std::size_t kMcpToolNameMax = 128;  // bytes

// An argument that the modern transport also requires as a header (`x-mcp-header`).
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
  std::optional<std::chrono::milliseconds> fresh_for = {};  // from the server; nullopt: not given
};

// Reads one page of tools/list. Leaves out tools without a valid name, tools whose schema does not describe
// an object or is deeper than `schema_depth_max`, and tools whose annotations break the rules of
// x-mcp-header. Errors: kUpstream.
base::Result<McpToolPage> read_mcp_tools(const nlohmann::json& result, int schema_depth_max);

// The headers of a call with `arguments`; an argument that is absent or null has none.
std::vector<std::pair<std::string, std::string>> mcp_param_headers(const std::vector<McpParam>& params,
                                                                   const nlohmann::json& arguments);

}  // namespace millrace::inference
