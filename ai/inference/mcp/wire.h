#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "ai/inference/mcp/tool_server.h"
#include "platform/base/result.h"

// JSON-RPC as MCP says it. Pure.
namespace millrace::inference {

// The era without sessions, and the versions before it, newest first.
inline constexpr std::string_view kMcpModern = "2026-07-28";
inline constexpr std::array<std::string_view, 4> kMcpLegacy{"2025-11-25", "2025-06-18", "2025-03-26",
                                                            "2024-11-05"};
bool is_legacy_mcp(std::string_view version);

// The errors that only servers of the modern era give.
inline constexpr int kMcpHeaderMismatch = -32020;
inline constexpr int kMcpMissingCapability = -32021;
inline constexpr int kMcpUnsupportedVersion = -32022;

inline constexpr std::string_view kMcpToolsChanged = "notifications/tools/list_changed";

// What a server says.
struct McpMessage {
  enum class Kind : std::uint8_t { kNone, kResult, kError, kRequest, kNotification };
  Kind kind = Kind::kNone;
  nlohmann::json id;      // as it came; null: none
  nlohmann::json result;  // an object
  std::string method;
  int code = 0;                        // of an error
  std::string words;                   // of an error, fit to be told on
  std::vector<std::string> supported;  // of kMcpUnsupportedVersion: the server's versions

  bool is_modern_error() const;
};

// kUpstream: no message of JSON-RPC, or past the bounds of schemas::read_json.
base::Result<McpMessage> read_mcp_message(std::string text);

// What we say. `params`: an object.
std::string mcp_request(std::int64_t id, const std::string& method, nlohmann::json params);
std::string mcp_notification(const std::string& method);
// To a request of the server's: a ping is answered, anything else is refused.
std::string mcp_answer(const McpMessage& request);

// What a request of the modern era says in `_meta`, and `initialize` of the others.
nlohmann::json mcp_meta();
nlohmann::json mcp_initialize_params(std::string_view version);

// `text` as the value of a header: as it is, or in base64 where it is not plain ASCII.
std::string mcp_header_value(std::string_view text);

// kUpstream, of a server that breaks the protocol or refuses: "the server " and `what`.
base::Error mcp_fault(const std::string& what);

// What a tool answered (the result of tools/call), as the model is told it: its texts, what else there is in
// a few words, and its structured content unless a text says the same. Above `bytes_max` it is cut and says
// so. kUpstream: the tool wants to be asked again with what only a person can give (`input_required`), or it
// is no result. Pure.
base::Result<McpOutcome> read_mcp_outcome(const nlohmann::json& result, std::size_t bytes_max);

}  // namespace millrace::inference
