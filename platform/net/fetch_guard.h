#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

struct sockaddr;

namespace millrace::net {

inline constexpr std::string_view kDocumentUrl = "document_url";

// A URL that may be fetched, taken apart.
struct FetchTarget {
  std::string url;     // normalised, without fragment
  std::string scheme;  // "https", "http"
  std::string host;    // lower case, IPv6 in brackets
  std::uint16_t port = 443;
  bool opened = false;  // named by --fetch.allow-hosts
};

// The SSRF rules of docs/design/security.md §2 for URLs that clients name. Pure; immutable after
// construction.
class FetchGuard {
 public:
  // `allow_hosts`: HOST or HOST:PORT; opens http, private addresses and that port (without a port: 80 and
  // 443).
  explicit FetchGuard(std::vector<std::string> allow_hosts);

  // kFetchRefused, naming the rule: scheme, port, credentials, host form (ASCII: international
  // names as xn--…), names of the local network (localhost, .localhost, .local, .internal). `field`: the
  // parameter that held it.
  base::Result<FetchTarget> check_url(std::string_view url, std::string_view field = kDocumentUrl) const;
  // A URL that another server will fetch, which resolves its name: check_url, and an address in the place of
  // the host has to be public, whatever its form (decimal, octal, hex, short, in brackets, with dots after
  // it).
  base::Status check_foreign_url(std::string_view url, std::string_view field) const;
  // After DNS, per connection. kFetchRefused for every address that is not public, unless the host is opened.
  base::Status check_address(const FetchTarget& target, const sockaddr& address) const;

 private:
  struct Opened {
    std::string host;
    std::uint16_t port = 0;  // 0: 80 and 443
  };
  bool is_opened(std::string_view host, std::uint16_t port) const;
  std::vector<Opened> opened_;
};

// True for loopback, private, link-local, shared, documentation, benchmark, multicast, reserved and
// translated ranges of IPv4 and IPv6 (the list of docs/design/security.md §2), and for every family that is
// neither.
bool is_special_address(const sockaddr& address);

}  // namespace millrace::net
