#pragma once
#include <optional>
#include <string_view>

// URLs as requests write them: what can be told without fetching them.
namespace millrace::schemas {

inline constexpr std::size_t kUrlMax = 8192;  // bytes, data URIs aside

// True if `url` begins with `scheme` ("https://", lower-case), whatever its case.
bool has_scheme(std::string_view url, std::string_view scheme);
// "data:application/pdf;base64,…" → what follows the comma; nullopt: not base64.
std::optional<std::string_view> data_uri_base64(std::string_view url);
// http or https, a host, and no white space; of any length.
bool plausible_url(std::string_view url);
// "https://user@host/": what stands between the scheme and the path has an '@'.
bool has_credentials(std::string_view url);
// "https://u:p@[::1]:8443/x" → "::1": the host as it is written. REQUIRES: plausible_url.
std::string_view url_host(std::string_view url);
// "https://u:p@[::1]:8443/x" → "https://u:p@[::1]:8443", as it is written.
std::string_view url_origin(std::string_view url);

}  // namespace millrace::schemas
