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

std::string url_problem(std::string_view url) {
  const std::size_t colon = url.find("://");
  const bool has_scheme = colon != std::string_view::npos;
  const std::string_view scheme = has_scheme ? url.substr(0, colon) : "http";
  const std::string_view rest = has_scheme ? url.substr(colon + 3) : url;
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  const bool looks_right =
      has_scheme || host == "localhost" || host.find_first_of(".:") != std::string_view::npos;
  if (!host.empty() && looks_right && (scheme == "http" || scheme == "https")) return {};
  return "\"" + std::string(url) + "\" is no URL such as http://127.0.0.1:8080";
}

}  // namespace millrace::cli
