#include "platform/net/fetch_guard.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>

namespace millrace::net {
namespace {

struct Range4 {
  std::uint32_t network;
  int bits;
};
constexpr std::uint32_t ip4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}
// docs/design/security.md §2. The names are those of IANA's registry of special addresses.
constexpr std::array kSpecial4 = {
    Range4{ip4(0, 0, 0, 0), 8},        // this network
    Range4{ip4(10, 0, 0, 0), 8},       // private
    Range4{ip4(100, 64, 0, 0), 10},    // shared, of providers
    Range4{ip4(127, 0, 0, 0), 8},      // loopback
    Range4{ip4(169, 254, 0, 0), 16},   // link-local
    Range4{ip4(172, 16, 0, 0), 12},    // private
    Range4{ip4(192, 0, 0, 0), 24},     // protocol assignments
    Range4{ip4(192, 0, 2, 0), 24},     // documentation
    Range4{ip4(192, 31, 196, 0), 24},  // AS112
    Range4{ip4(192, 52, 193, 0), 24},  // multicast tunnels
    Range4{ip4(192, 88, 99, 0), 24},   // 6to4 relays
    Range4{ip4(192, 168, 0, 0), 16},   // private
    Range4{ip4(192, 175, 48, 0), 24},  // AS112
    Range4{ip4(198, 18, 0, 0), 15},    // benchmarks
    Range4{ip4(198, 51, 100, 0), 24},  // documentation
    Range4{ip4(203, 0, 113, 0), 24},   // documentation
    Range4{ip4(224, 0, 0, 0), 4},      // multicast
    Range4{ip4(240, 0, 0, 0), 4},      // reserved, broadcast
};

struct Range6 {
  std::array<std::uint8_t, 16> network;
  int bits;
};
// All public addresses are in this range: loopback, private, link-local, mapped, translated (NAT64) and
// multicast addresses are not.
constexpr Range6 kPublic6{{0x20}, 3};
constexpr std::array kSpecial6 = {
    Range6{{0x20, 0x01, 0x00}, 23},                    // protocol assignments: Teredo, benchmarks, ORCHID
    Range6{{0x20, 0x01, 0x0d, 0xb8}, 32},              // documentation
    Range6{{0x20, 0x02}, 16},                          // 6to4
    Range6{{0x26, 0x20, 0x00, 0x4f, 0x80, 0x00}, 48},  // AS112
    Range6{{0x3f, 0xff}, 20},                          // documentation
};

bool is_special4(std::uint32_t address) {
  return std::any_of(kSpecial4.begin(), kSpecial4.end(), [&](const Range4& range) {
    const std::uint32_t mask = ~std::uint32_t{0} << (32 - range.bits);
    return (address & mask) == range.network;
  });
}

bool in_range6(const std::uint8_t* address, const Range6& range) {
  for (int bit = 0; bit < range.bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    const auto byte = static_cast<std::size_t>(bit / 8);
    if ((address[byte] & mask) != (range.network[byte] & mask)) return false;
  }
  return true;
}

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, UrlDeleter>;

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK || text == nullptr) return {};
  std::string out = text;
  curl_free(text);
  return out;
}

// Names of this host or of hosts in its network, including the metadata servers of clouds.
bool is_local_name(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  return host == "localhost" || host.ends_with(".localhost") || host.ends_with(".local") ||
         host.ends_with(".internal");
}

base::Error refused(std::string_view field, std::string_view why) {
  return base::error(base::Code::kFetchRefused, std::string(field).append(" ").append(why),
                     std::string(field));
}

// The rule of the URL Standard: a host whose last label is a number is either an IPv4 address or invalid.
bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  const bool hex = last.starts_with("0x");
  return !last.empty() && (hex || last.find_first_not_of("0123456789") == std::string_view::npos);
}

// The address that a resolver derives from the text without a lookup. nullopt: it is a name. AF_UNSPEC: it is
// neither.
std::optional<sockaddr_storage> literal_address(std::string_view host) {
  sockaddr_storage out{};
  if (host.starts_with('[')) {
    sockaddr_in6 six{};
    const std::string text(host.substr(1, host.size() - 2));
    if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) six.sin6_family = AF_INET6;
    std::memcpy(&out, &six, sizeof six);
    return out;
  }
  while (host.ends_with('.')) host.remove_suffix(1);
  if (!ends_in_number(host)) return std::nullopt;
  sockaddr_in four{};
  if (::inet_aton(std::string(host).c_str(), &four.sin_addr) != 0) four.sin_family = AF_INET;
  std::memcpy(&out, &four, sizeof four);
  return out;
}

}  // namespace

bool is_special_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    return is_special4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return true;
  sockaddr_in6 in{};
  std::memcpy(&in, &address, sizeof in);
  const auto is_in = [&](const Range6& range) { return in_range6(in.sin6_addr.s6_addr, range); };
  return !is_in(kPublic6) || std::any_of(kSpecial6.begin(), kSpecial6.end(), is_in);
}

FetchGuard::FetchGuard(std::vector<std::string> allow_hosts, std::string setting, std::string_view field)
    : setting_(std::move(setting)), field_(field) {
  for (std::string& entry : allow_hosts) {
    std::transform(entry.begin(), entry.end(), entry.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    Opened opened{entry, 0};
    const std::size_t colon = entry.rfind(':');
    const bool has_port = colon != std::string::npos && entry.find(']', colon) == std::string::npos;
    if (has_port) {
      std::from_chars(entry.data() + colon + 1, entry.data() + entry.size(), opened.port);
      opened.host = entry.substr(0, colon);
    }
    opened_.push_back(std::move(opened));
  }
}

bool FetchGuard::is_opened(std::string_view host, std::uint16_t port) const {
  return std::any_of(opened_.begin(), opened_.end(), [&](const Opened& o) {
    return o.host == host && (o.port == port || (o.port == 0 && (port == 80 || port == 443)));
  });
}

base::Result<FetchTarget> FetchGuard::check_url(std::string_view text, std::string_view field) const {
  const Url url(curl_url());
  const std::string copy(text);
  if (copy.size() > 8192 || copy.find('\0') != std::string::npos ||
      curl_url_set(url.get(), CURLUPART_URL, copy.c_str(), 0) != CURLUE_OK) {
    return refused(field, "is not a URL that can be fetched");
  }
  if (!part(url.get(), CURLUPART_USER).empty() || !part(url.get(), CURLUPART_PASSWORD).empty()) {
    return refused(field, "must not carry credentials");
  }
  if (!part(url.get(), CURLUPART_ZONEID).empty()) return refused(field, "must not name a network zone");
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);

  FetchTarget target;
  target.scheme = part(url.get(), CURLUPART_SCHEME);
  target.host = part(url.get(), CURLUPART_HOST);
  std::transform(target.host.begin(), target.host.end(), target.host.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // Letters of other scripts can be mapped to any host name. So a client must send the mapped name.
  if (std::any_of(target.host.begin(), target.host.end(), [](unsigned char c) { return c >= 0x80; })) {
    return refused(field, "must name its host in ASCII; write an international name as xn--…");
  }
  const std::string port = part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  std::from_chars(port.data(), port.data() + port.size(), target.port);
  target.opened = is_opened(target.host, target.port);
  target.url = part(url.get(), CURLUPART_URL);
  if (target.scheme != "https" && !(target.scheme == "http" && target.opened)) {
    return refused(field, "must be an https URL; `" + setting_ + "` opens http for named hosts");
  }
  if (!target.opened && target.port != 443 && target.port != 80) {
    return refused(field, "must use port 443 or 80; `" + setting_ + " HOST:PORT` opens others");
  }
  if (!target.opened && is_local_name(target.host))
    return refused(field, "must not name a host of the local network; `" + setting_ + "` opens named hosts");
  return target;
}

base::Status FetchGuard::check_address(const FetchTarget& target, const sockaddr& address) const {
  if (target.opened || !is_special_address(address)) return {};
  return refused(field_, "leads to an address that is not public; `" + setting_ + "` opens named hosts");
}

base::Status FetchGuard::check_foreign_url(std::string_view url, std::string_view field) const {
  const base::Result<FetchTarget> target = check_url(url, field);
  if (!target) return target.error();
  const std::optional<sockaddr_storage> address = literal_address(target->host);
  if (!address || check_address(*target, reinterpret_cast<const sockaddr&>(*address))) return {};
  return refused(field, "leads to an address that is not public; `" + setting_ + "` opens named hosts");
}

}  // namespace millrace::net
