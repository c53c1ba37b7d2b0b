#include "storage/s3/location.h"

#include <algorithm>
#include <string_view>

namespace millrace::s3 {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::size_t kPrefixBytesMax = 512;

bool is_bucket_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}
bool is_prefix_char(char c) { return is_bucket_char(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '/'; }

bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, is_bucket_char) &&
         name.front() != '.' && name.back() != '.' && name.find("..") == std::string_view::npos;
}

// A client or a server could shorten a path with the segments "." and "..", or with empty ones.
bool is_prefix(std::string_view prefix) {
  const std::string inside = "/" + std::string(prefix) + "/";
  return prefix.size() <= kPrefixBytesMax && std::ranges::all_of(prefix, is_prefix_char) &&
         inside.find("//") == std::string::npos && inside.find("/./") == std::string::npos &&
         inside.find("/../") == std::string::npos;
}

bool is_host_char(char c) {
  return is_bucket_char(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || c == '[' || c == ']';
}

// Empty: not an endpoint. A default port is left out, as HTTP clients do.
std::string host_of(std::string_view endpoint) {
  const bool is_tls = endpoint.starts_with("https://");
  if (!is_tls && !endpoint.starts_with("http://")) return {};
  std::string host(endpoint.substr(endpoint.find("//") + 2));
  if (host.empty() || !std::ranges::all_of(host, is_host_char)) return {};
  const std::string_view port = is_tls ? ":443" : ":80";
  if (host.ends_with(port)) host.resize(host.size() - port.size());
  return host;
}

}  // namespace

base::Result<Location> parse_location(const std::string& url, const std::string& endpoint) {
  const auto refuse = [](const char* setting, const std::string& why) {
    return base::error(base::Code::kInvalidField, std::string(setting) + ": " + why, setting);
  };
  if (!url.starts_with(kScheme)) return refuse("blobs.url", "must be s3://BUCKET or s3://BUCKET/PREFIX");
  std::string rest = url.substr(kScheme.size());
  while (rest.ends_with('/')) rest.pop_back();
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  Location out{.endpoint = endpoint, .host = {}, .bucket = rest.substr(0, slash), .prefix = {}};
  if (!is_bucket(out.bucket))
    return refuse("blobs.url", "a bucket's name has 3 to 63 of the characters a-z, 0-9, '-' and '.'");
  if (slash < rest.size()) {
    const std::string prefix = rest.substr(slash + 1);
    if (!is_prefix(prefix))
      return refuse("blobs.url",
                    "a prefix has up to 512 of the characters A-Z, a-z, 0-9, '-', '.', '_' and '/'");
    out.prefix = prefix + "/";
  }
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  out.host = host_of(out.endpoint);
  out.endpoint.resize(std::min(out.endpoint.size(), out.endpoint.find("//") + 2 + out.host.size()));
  if (out.host.empty())
    return refuse("blobs.endpoint", "must be http://HOST[:PORT] or https://HOST[:PORT], without a path");
  return out;
}

}  // namespace millrace::s3
