#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

struct sockaddr;

namespace millrace::net {

inline constexpr std::string_view kDocumentUrl = "document_url";

// A parsed URL that may be fetched.
struct FetchTarget {
  std::string url;     // normalised, without fragment
  std::string scheme;  // "https", "http"
  std::string host;    // lower case, IPv6 in brackets
  std::uint16_t port = 443;
  bool opened = false;  // allowed by --fetch.allow-hosts
};

// Applies the SSRF rules of docs/design/security.md §2 to URLs that clients name. Immutable after
// construction; no I/O.
class FetchGuard {
 public:
  // `allow_hosts` are HOST or HOST:PORT. For these hosts, http, private addresses and the port are allowed
  // (without a port: 80 and 443).
  // `setting`: its flag, and `field`: the parameter of check_address, for the messages.
  explicit FetchGuard(std::vector<std::string> allow_hosts, std::string setting = "--fetch.allow-hosts",
                      std::string_view field = kDocumentUrl);

  // Checks the scheme, the port, credentials, the form of the host (ASCII; international names as xn--…) and
  // names of the local network (localhost, .localhost, .local, .internal). The message of kFetchRefused names
  // the rule. `field` is the parameter that contained the URL.
  base::Result<FetchTarget> check_url(std::string_view url, std::string_view field = kDocumentUrl) const;
  // Checks a URL that another server will fetch and resolve. In addition to check_url, an address in place of
  // the host must be public, in any notation (decimal, octal, hex, short, in brackets, with trailing dots).
  base::Status check_foreign_url(std::string_view url, std::string_view field) const;
  // Called after DNS resolution, for each connection. kFetchRefused for every address that is not public,
  // unless the host is allowed.
  base::Status check_address(const FetchTarget& target, const sockaddr& address) const;

 private:
  struct Opened {
    std::string host;
    std::uint16_t port = 0;  // 0: ports 80 and 443
  };
  bool is_opened(std::string_view host, std::uint16_t port) const;
  std::vector<Opened> opened_;
  std::string setting_, field_;
};

// True for the special-purpose ranges of IPv4 and IPv6: loopback, private, link-local, shared, documentation,
// benchmark, multicast, reserved and translated (the list in docs/design/security.md §2). Also true for all
// other address families.
bool is_special_address(const sockaddr& address);

}  // namespace millrace::net
