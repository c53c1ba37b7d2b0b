#include "api/admission/allowed_hosts.h"

#include <algorithm>
#include <utility>

#include "api/front/characters.h"
#include "platform/base/ip_address.h"

namespace millrace::api {
namespace {

// "" or ":PORT".
bool is_port(std::string_view rest) {
  constexpr std::string_view kDigits = "0123456789";
  return rest.empty() || (rest.size() > 1 && rest.find_first_not_of(kDigits, 1) == std::string_view::npos);
}

}  // namespace

AllowedHosts::AllowedHosts(std::vector<std::string> names) : names_(std::move(names)) {
  names_.emplace_back("localhost");
}

bool AllowedHosts::contains(std::string_view authority) const {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    return end != std::string_view::npos && is_port(authority.substr(end + 1)) &&
           base::IpAddress::parse(authority.substr(1, end - 1)).has_value();
  }
  std::string_view host = authority.substr(0, authority.find(':'));
  if (!is_port(authority.substr(host.size()))) return false;
  if (base::IpAddress::parse(host)) return true;
  if (host.ends_with('.')) host.remove_suffix(1);
  return std::ranges::any_of(names_, [&](const std::string& name) { return front::same_name(name, host); });
}

base::Error wrong_host(std::string_view host) {
  return base::error(base::Code::kMisdirected, "This gateway is not known as " + std::string(host) +
                                                   ": add the name to http.hosts, or set public_url");
}

}  // namespace millrace::api
