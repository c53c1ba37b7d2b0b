#include "app/cli/local_gateway.h"

#include <arpa/inet.h>

#include "platform/base/net_address.h"

namespace millrace::cli {
namespace {

constexpr std::uint16_t kAnyPort = 1;

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

bool is_local_gateway(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    // With credentials or a backslash in it, it is no address, and that is the answer.
    const std::string_view rest = url.substr(scheme.size());
    const auto address = base::parse_net_address(rest.substr(0, rest.find_first_of("/?#")), kAnyPort);
    return address && is_loopback(address->host);
  }
  return false;
}

}  // namespace millrace::cli
