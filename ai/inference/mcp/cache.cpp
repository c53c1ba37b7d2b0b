#include "ai/inference/mcp/cache.h"

#include <algorithm>
#include <utility>

#include "platform/base/crypto.h"

namespace millrace::inference {
namespace {

using std::chrono::milliseconds;

std::size_t list_bytes(const McpToolList& list) {
  std::size_t bytes = 0;
  for (const McpListedTool& each : list.tools)
    bytes +=
        sizeof each + each.tool.name.size() + each.tool.description.size() + each.tool.input_schema.size();
  for (const McpLeftOutTool& each : list.left_out)
    bytes += sizeof each + each.name.size() + each.reason.size();
  return bytes;
}

}  // namespace

std::string McpCache::server_of(const McpEndpoint& endpoint) {
  std::string identity = endpoint.version;
  if (endpoint.guarded) identity += " guarded";  // no guarded request gets a list fetched without the guard
  for (const auto& [name, value] : endpoint.headers)
    identity.append("\n").append(name).append(":").append(value);
  return base::hex(base::sha256(identity)).append(" ").append(endpoint.url);
}

McpToolListPtr McpCache::tools(const std::string& server, Time now) {
  const auto found = entries_.find(server);
  if (found == entries_.end()) return nullptr;
  if (found->second.until <= now) {
    remove(found);
    return nullptr;
  }
  found->second.used_at = now;
  return found->second.list;
}

void McpCache::keep(const std::string& server, McpToolListPtr list, std::optional<milliseconds> ttl,
                    Time now) {
  forget_tools(server);
  const milliseconds time = std::min(ttl.value_or(options_.keep), options_.keep);
  const std::size_t bytes = list_bytes(*list);
  if (time.count() <= 0 || bytes > options_.bytes_max) return;
  entries_.emplace(server, Entry{std::move(list), bytes, now + time, now});
  bytes_ += bytes;
  evict_oldest();
}

void McpCache::forget_tools(const std::string& server) {
  const auto found = entries_.find(server);
  if (found != entries_.end()) remove(found);
}

void McpCache::remove(Entries::iterator entry) {
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

void McpCache::evict_oldest() {
  const auto older = [](const auto& a, const auto& b) { return a.second.used_at < b.second.used_at; };
  while (bytes_ > options_.bytes_max || entries_.size() > options_.servers_max)
    remove(std::min_element(entries_.begin(), entries_.end(), older));
}

McpTransport McpCache::transport(const std::string& url) const {
  const auto found = transports_.find(url);
  return found == transports_.end() ? McpTransport::kUnknown : found->second;
}

void McpCache::remember_transport(const std::string& url, McpTransport transport) {
  if (transport == McpTransport::kUnknown) {
    transports_.erase(url);
    return;
  }
  if (transports_.size() >= options_.servers_max && !transports_.contains(url))
    transports_.erase(transports_.begin());
  transports_[url] = transport;
}

}  // namespace millrace::inference
