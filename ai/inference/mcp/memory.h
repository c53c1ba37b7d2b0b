#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/inference/mcp/tool_server.h"
#include "ai/inference/mcp/tools.h"

namespace millrace::inference {

// How a server of tools is spoken to.
enum class McpTransport : std::uint8_t {
  kUnknown,
  kModern,    // without sessions
  kSessions,  // Streamable HTTP, with a session
  kStream,    // 2024-11-05: one stream of events for all answers
};

using McpToolList = std::vector<McpListedTool>;
using McpToolListPtr = std::shared_ptr<const McpToolList>;

struct McpMemoryOptions {
  std::chrono::milliseconds keep{300'000};  // of a list, at most; 0: none is kept
  std::size_t servers_max = 512;            // the ones asked for longest ago go first
  std::size_t bytes_max = 32u << 20;        // of all lists; likewise
};

// What conversations have found out about servers of tools, for those that come after them. Time is passed
// in. Loop thread only.
class McpMemory {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit McpMemory(McpMemoryOptions options = {}) : options_(options) {}

  // What decides what a server answers: its URL, whether that is guarded, the version that is asked for, what
  // it is told in headers (as a hash: they hold keys).
  static std::string server_of(const McpEndpoint& endpoint);

  // Null: unknown, or too old.
  McpToolListPtr tools(const std::string& server, Time now);
  // `fresh_for`: as the server said; nullopt: it said nothing.
  void keep(const std::string& server, McpToolListPtr list,
            std::optional<std::chrono::milliseconds> fresh_for, Time now);
  void forget_tools(const std::string& server);

  // Of a URL, for one origin may have servers of several eras.
  McpTransport era(const std::string& url) const;
  void learn(const std::string& url, McpTransport era);  // kUnknown: forgets

 private:
  struct Entry {
    McpToolListPtr list;
    std::size_t bytes = 0;
    Time until{}, used_at{};
  };
  using Entries = std::map<std::string, Entry>;
  void remove(Entries::iterator entry);
  void evict_oldest();

  const McpMemoryOptions options_;
  Entries entries_;
  std::size_t bytes_ = 0;
  std::map<std::string, McpTransport> eras_;  // by URL
};

}  // namespace millrace::inference
