#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/inference/mcp/messages.h"
#include "ai/inference/mcp/tool_server.h"

namespace millrace::inference {

// The transport of a tool server.
enum class McpTransport : std::uint8_t {
  kUnknown,
  kStateless,  // Streamable HTTP without a session
  kSessions,   // Streamable HTTP with a session
  kHttpSse,    // only version 2024-11-05: one event stream for all responses (McpStream)
};

struct McpToolList {
  std::vector<McpListedTool> tools;
  std::vector<McpLeftOutTool> left_out;
};
using McpToolListPtr = std::shared_ptr<const McpToolList>;

struct McpCacheOptions {
  std::chrono::milliseconds keep{300'000};  // maximum age of a list; 0: no lists are kept
  std::size_t servers_max = 512;            // beyond it, the least recently used are removed
  std::size_t bytes_max = 32u << 20;        // of all lists; the same beyond it
};

// Facts that sessions learned about tool servers, kept for later sessions. Time is passed in. Loop thread
// only.
class McpCache {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit McpCache(McpCacheOptions options = {}) : options_(options) {}

  // The cache key: everything that determines the server's answer. These are its URL, whether the guard
  // applies, the requested version, and a hash of the headers (they contain keys).
  static std::string server_of(const McpEndpoint& endpoint);

  // Null: not cached, or too old.
  McpToolListPtr tools(const std::string& server, Time now);
  // `ttl`: the lifetime that the server gave; nullopt: it gave none.
  void keep(const std::string& server, McpToolListPtr list, std::optional<std::chrono::milliseconds> ttl,
            Time now);
  void forget_tools(const std::string& server);

  // Keyed by URL, because one origin may have servers with different transports.
  McpTransport transport(const std::string& url) const;
  void remember_transport(const std::string& url, McpTransport transport);  // kUnknown: removes the entry

 private:
  struct Entry {
    McpToolListPtr list;
    std::size_t bytes = 0;
    Time until{}, used_at{};
  };
  using Entries = std::map<std::string, Entry>;
  void remove(Entries::iterator entry);
  void evict_oldest();

  const McpCacheOptions options_;
  Entries entries_;
  std::size_t bytes_ = 0;
  std::map<std::string, McpTransport> transports_;  // by URL
};

}  // namespace millrace::inference
