#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/inference/mcp/tool_server.h"
#include "platform/base/result.h"
#include "schemas/json/json.h"

// The JSON of MCP: messages, tool lists and results. Pure functions.
namespace millrace::inference {

// The version without sessions, and the versions before it, newest first.
inline constexpr std::string_view kMcpModern = "2026-07-28";
inline constexpr std::array<std::string_view, 4> kMcpLegacy{"2025-11-25", "2025-06-18", "2025-03-26",
                                                            "2024-11-05"};
bool is_legacy_mcp(std::string_view version);

// Errors that only servers of the modern version return.
inline constexpr int kMcpHeaderMismatch = -32020;
inline constexpr int kMcpMissingCapability = -32021;
inline constexpr int kMcpUnsupportedVersion = -32022;

inline constexpr std::string_view kMcpToolsChanged = "notifications/tools/list_changed";

// A message from a server.
struct McpMessage {
  enum class Kind : std::uint8_t { kNone, kResult, kError, kRequest, kNotification };
  Kind kind = Kind::kNone;
  schemas::Json id;      // as received; null: none
  schemas::Json result;  // an object
  std::string method;
  int code = 0;                        // of an error
  std::string error_message;           // text of an error, sanitized
  std::vector<std::string> supported;  // of kMcpUnsupportedVersion: the server's versions

  bool is_modern_error() const;
};

// kUpstream: not a JSON-RPC message, or beyond the bounds of schemas::read_json.
base::Result<McpMessage> read_mcp_message(std::string text);

// Messages that the gateway sends. `params`: an object.
std::string mcp_request(std::int64_t id, const std::string& method, schemas::Json params);
std::string mcp_notification(const std::string& method);
// The response to a request from the server: a ping is answered, anything else is refused.
std::string mcp_answer(const McpMessage& request);

// `_meta` of a request of the modern version, and the params of `initialize` for older versions.
schemas::Json mcp_meta();
schemas::Json mcp_initialize_params(std::string_view version);

// `text` as a header value: unchanged if it is plain ASCII, otherwise in base64.
std::string mcp_header_value(std::string_view text);

// kUpstream with the message "the server " + `what`, for a server that breaks the protocol or refuses.
base::Error mcp_fault(const std::string& what);

inline constexpr std::size_t kMcpPicturesMax = 16;  // of one result; further ones are only described

// Reads the result of tools/call into the text for the model: its texts, a short note for each other content,
// and its structured content unless a text equals it. A text above `bytes_max` is cut and ends with a notice.
// Images, also as resources, are pictures too, if their bytes are base64 and those of an image.
// kUpstream: the tool needs input from a person (`input_required`), or the result is invalid. Pure.
base::Result<McpOutcome> read_mcp_outcome(const schemas::Json& result, std::size_t bytes_max);

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
  std::vector<McpLeftOutTool> left_out;
  std::string cursor;                                 // of the next page; empty: this is the last
  std::optional<std::chrono::milliseconds> ttl = {};  // from the server; nullopt: not given
};

// The left-out entry for a tool of any name.
McpLeftOutTool mcp_left_out(std::string_view name, std::string reason);

// Reads one page of tools/list. Schemas are completed (providers/json_schema.h). Leaves out tools without a
// valid name, tools whose schema does not describe an object or is deeper than `schema_depth_max`, and tools
// whose annotations break the rules of x-mcp-header. Errors: kUpstream.
base::Result<McpToolPage> read_mcp_tools(const schemas::Json& result, int schema_depth_max);

// The headers of a call with `arguments`; an argument that is absent or null has none.
std::vector<std::pair<std::string, std::string>> mcp_param_headers(const std::vector<McpParam>& params,
                                                                   const schemas::Json& arguments);

}  // namespace millrace::inference
