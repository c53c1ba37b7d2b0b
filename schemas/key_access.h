#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"
#include "schemas/json/json.h"

namespace millrace::schemas {

// Names that a key may use: exact, or with a `*` at the end everything that begins so. Absent: all. Empty:
// none.
using AllowList = std::optional<std::vector<std::string>>;

inline constexpr std::size_t kAllowListMax = 256;    // entries
inline constexpr std::size_t kAllowedNameMax = 512;  // bytes of an entry

bool allows(const AllowList& list, std::string_view name);
// The same for the URL of a server. With a list, a URL with dot segments in its path is not allowed: the
// client that fetches it resolves them.
bool allows_url(const AllowList& list, std::string_view url);
// True if `wide` allows everything that `narrow` allows.
bool covers(const AllowList& wide, const AllowList& narrow);
// null or no member: no list. Anything else than a list of strings allows nothing.
AllowList allow_list_from(const Json& stored);

// What a key may reach, besides its scopes.
struct KeyAccess {
  AllowList ip_ranges = {};    // base::IpRange: the addresses of its clients
  AllowList models = {};       // by the names in requests: `gpt-5`, `openai/*`
  AllowList mcp_servers = {};  // slugs of the configuration, and URLs: `search`, `https://mcp.example/*`
  friend bool operator==(const KeyAccess&, const KeyAccess&) = default;
};
// True if `wide` allows everything that `narrow` allows.
bool covers(const KeyAccess& wide, const KeyAccess& narrow);
// kInvalidField: an entry is empty, too long, or not a range.
base::Status check_access(const KeyAccess& access);

}  // namespace millrace::schemas
