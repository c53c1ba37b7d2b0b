#include "schemas/key_access.h"

#include <algorithm>
#include <utility>

#include "platform/base/ip_address.h"
#include "schemas/json/json.h"

namespace millrace::schemas {
namespace {

constexpr char kWildcard = '*';

// True if `entry` allows `name`, which may be an entry, too.
bool entry_covers(std::string_view entry, std::string_view name) {
  if (entry == name) return true;
  return entry.ends_with(kWildcard) && name.starts_with(entry.substr(0, entry.size() - 1));
}

// `.` and `..` in the path, also encoded.
bool has_dot_segment(std::string_view url) {
  std::string path(url.substr(0, std::min(url.find_first_of("?#"), url.size())));
  std::ranges::transform(path, path.begin(),
                         [](char c) { return c == '\\' ? '/' : static_cast<char>(c | 0x20); });
  if (path.find("%2e") != std::string::npos || path.find("%5c") != std::string::npos) return true;
  path += '/';
  return path.find("/./") != std::string::npos || path.find("/../") != std::string::npos;
}

// A pattern `https://mcp.example*` would allow hosts that only begin so.
bool has_open_host(std::string_view entry) {
  const std::size_t scheme = entry.find("://");
  if (scheme == std::string_view::npos || !entry.ends_with(kWildcard)) return false;
  return entry.find('/', scheme + 3) == std::string_view::npos;
}

bool range_covers(std::string_view entry, std::string_view narrow) {
  const auto outer = base::IpRange::parse(entry), inner = base::IpRange::parse(narrow);
  return outer && inner && outer->contains(*inner);
}

template <class Covers>
bool list_covers(const AllowList& wide, const AllowList& narrow, const Covers& entry) {
  if (!wide) return true;
  if (!narrow) return false;
  return std::ranges::all_of(*narrow, [&](const std::string& name) {
    return std::ranges::any_of(*wide, [&](const std::string& each) { return entry(each, name); });
  });
}

base::Status check_names(const AllowList& list, std::string_view field) {
  if (!list) return {};
  const std::string place(field);
  if (list->size() > kAllowListMax)
    return base::error(base::Code::kInvalidField,
                       place + " should have at most " + std::to_string(kAllowListMax) + " entries", place);
  for (const std::string& each : *list) {
    if (!each.empty() && each.size() <= kAllowedNameMax) continue;
    return base::error(base::Code::kInvalidField,
                       place + " should have entries of 1 to " + std::to_string(kAllowedNameMax) + " bytes",
                       place);
  }
  return {};
}

}  // namespace

bool allows(const AllowList& list, std::string_view name) {
  return !list ||
         std::ranges::any_of(*list, [&](const std::string& entry) { return entry_covers(entry, name); });
}

bool allows_url(const AllowList& list, std::string_view url) {
  return !list || (!has_dot_segment(url) && allows(list, url));
}

bool covers(const AllowList& wide, const AllowList& narrow) {
  return list_covers(wide, narrow, &entry_covers);
}

AllowList allow_list_from(const Json& stored) {
  if (stored.is_null()) return std::nullopt;
  std::vector<std::string> out;
  if (!stored.is_array()) return out;
  for (const Json& each : stored) {
    if (each.is_string()) out.push_back(each.get<std::string>());
  }
  return out;
}

bool covers(const KeyAccess& wide, const KeyAccess& narrow) {
  return list_covers(wide.ip_ranges, narrow.ip_ranges, &range_covers) && covers(wide.models, narrow.models) &&
         covers(wide.mcp_servers, narrow.mcp_servers);
}

base::Status check_access(const KeyAccess& access) {
  for (const auto& [list, field] :
       {std::pair(&access.ip_ranges, "ip_ranges"), std::pair(&access.models, "models"),
        std::pair(&access.mcp_servers, "mcp_servers")}) {
    if (base::Status good = check_names(*list, field); !good) return good;
  }
  for (const std::string& each : access.mcp_servers.value_or(std::vector<std::string>())) {
    if (!has_open_host(each)) continue;
    return base::error(base::Code::kInvalidField,
                       "mcp_servers: '" + each + "' should have a `/` between the host and the `*`",
                       "mcp_servers");
  }
  if (!access.ip_ranges) return {};
  for (const std::string& each : *access.ip_ranges) {
    if (base::IpRange::parse(each)) continue;
    return base::error(base::Code::kInvalidField,
                       "ip_ranges: '" + each +
                           "' is not an address or a range such as 10.0.0.0/8 or 2001:db8::/32, without bits "
                           "behind the prefix",
                       "ip_ranges");
  }
  return {};
}

}  // namespace millrace::schemas
