#pragma once
#include <optional>
#include <string>
#include <string_view>

// Checks on URLs of requests that need no network access.
namespace millrace::schemas {

inline constexpr std::size_t kUrlMax = 8192;  // bytes; data URIs may be longer

// True if `url` begins with `scheme` ("https://", lower-case), ignoring the case of `url`.
bool has_scheme(std::string_view url, std::string_view scheme);
// "data:application/pdf;base64,…" → the part after the comma; nullopt: not a base64 data URI.
std::optional<std::string_view> data_uri_base64(std::string_view url);
// True for http or https with a host and without white space, of any length.
bool plausible_url(std::string_view url);
// True if the part between the scheme and the path has an '@': "https://user@host/".
bool has_credentials(std::string_view url);
// "https://u:p@[::1]:8443/x" → "::1": the host, unchanged. REQUIRES: plausible_url.
std::string_view url_host(std::string_view url);
// "https://u:p@[::1]:8443/x" → "https://u:p@[::1]:8443", unchanged.
std::string_view url_origin(std::string_view url);
// `text` with the query and fragment of each URL in it replaced by "***": "see https://a/b?*** there".
std::string mask_url_queries(std::string_view text);

}  // namespace millrace::schemas
