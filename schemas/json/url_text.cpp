#include "schemas/json/url_text.h"

#include <algorithm>

namespace millrace::schemas {
namespace {

bool same_letters(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// "user@host:port"
std::string_view authority(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::string_view rest = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?#"));
}

bool is_in_url(char c) {
  constexpr std::string_view kEnds = "\"'<>`\\";
  return static_cast<unsigned char>(c) > ' ' && kEnds.find(c) == std::string_view::npos;
}

}  // namespace

bool has_scheme(std::string_view url, std::string_view scheme) {
  return url.size() >= scheme.size() && same_letters(url.substr(0, scheme.size()), scheme);
}

std::optional<std::string_view> data_uri_base64(std::string_view url) {
  constexpr std::string_view kMark = ";base64";
  constexpr std::size_t kHeadMax = 512;
  const std::size_t comma = url.substr(0, kHeadMax).find(',');
  if (comma == std::string_view::npos || comma < kMark.size()) return std::nullopt;
  if (!same_letters(url.substr(comma - kMark.size(), kMark.size()), kMark)) return std::nullopt;
  return url.substr(comma + 1);
}

bool plausible_url(std::string_view url) {
  const std::size_t start = has_scheme(url, "https://") ? 8 : has_scheme(url, "http://") ? 7 : 0;
  if (start == 0) return false;
  const bool clean = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != '\x7f'; });
  const char first = start < url.size() ? url[start] : '\0';
  return clean && first != '\0' && first != '/' && first != '?' && first != '#' && first != ':';
}

bool has_credentials(std::string_view url) { return authority(url).find('@') != std::string_view::npos; }

std::string_view url_host(std::string_view url) {
  std::string_view host = authority(url);
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

std::string_view url_origin(std::string_view url) {
  const std::string_view place = authority(url);
  return url.substr(0, static_cast<std::size_t>(place.data() - url.data()) + place.size());
}

std::string mask_url_queries(std::string_view text) {
  constexpr std::string_view kScheme = "://", kMask = "***";
  std::string out;
  for (std::size_t scheme = 0; (scheme = text.find(kScheme)) != std::string_view::npos;) {
    const auto end =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(scheme), text.end(), is_in_url);
    const std::string_view through_url = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    const std::size_t authority = scheme + kScheme.size();
    const std::string_view place =
        through_url.substr(authority, through_url.find_first_of("/?#", authority) - authority);
    std::size_t from = 0;
    if (const std::size_t credentials_end = place.rfind('@'); credentials_end != std::string_view::npos) {
      out.append(through_url.substr(0, authority)).append(kMask);
      from = authority + credentials_end;
    }
    const std::size_t query = through_url.find_first_of("?#", authority);
    out.append(through_url.substr(from, query == std::string_view::npos ? query : query + 1 - from));
    if (query != std::string_view::npos) out.append(kMask);
    text.remove_prefix(through_url.size());
  }
  return out.append(text);
}

}  // namespace millrace::schemas
