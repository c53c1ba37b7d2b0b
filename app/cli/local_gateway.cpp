#include "app/cli/local_gateway.h"

#include "platform/base/net_address.h"

namespace millrace::cli {
namespace {

constexpr std::uint16_t kAnyPort = 1;

}  // namespace

bool is_local_gateway(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    // With credentials or a backslash in it, it is no address, and that is the answer.
    const std::string_view rest = url.substr(scheme.size());
    const auto address = base::parse_net_address(rest.substr(0, rest.find_first_of("/?#")), kAnyPort);
    return address && base::is_loopback(address->host);
  }
  return false;
}

}  // namespace millrace::cli
