#include "app/cli/program.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "app/cli/json_cells.h"
#include "platform/base/net_address.h"

namespace millrace::cli {

namespace fs = std::filesystem;
namespace {

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

// $'…' of bash, zsh and POSIX 2024, with everything escaped that a terminal would interpret.
std::string escaped_word(const std::string& text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out.append("\\x").append({kHex[byte >> 4], kHex[byte & 0xf]});
    } else {
      out.append(c == '\'' || c == '\\' ? "\\" : "").push_back(c);
    }
  }
  return out + "'";
}

}  // namespace

std::string shell_word(const std::string& text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  if (one_line(text) != text) return escaped_word(text);
  std::string out = "'";
  for (const char c : text) c == '\'' ? static_cast<void>(out += "'\\''") : out.push_back(c);
  return out + "'";
}

std::string program_name(const fs::path& self, std::string_view path_variable) {
  while (!path_variable.empty()) {
    const std::size_t colon = path_variable.find(':');
    const fs::path candidate = fs::path(path_variable.substr(0, colon)) / "millrace";
    path_variable = colon == std::string_view::npos ? std::string_view() : path_variable.substr(colon + 1);
    std::error_code unknown;
    if (!fs::is_regular_file(candidate, unknown)) continue;
    return fs::equivalent(candidate, self, unknown) ? "millrace" : shell_word(self.string());
  }
  return shell_word(self.string());
}

std::string program() {
  std::error_code unknown;
  const fs::path self = fs::read_symlink("/proc/self/exe", unknown);
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  return unknown ? "millrace" : program_name(self, path == nullptr ? "" : path);
}

std::string gateway_options(const ClientOptions& options) {
  std::string out;
  if (options.url != ClientOptions().url) out += " --url " + shell_word(options.url);
  if (!options.data.empty()) out += " --data " + shell_word(options.data);
  if (options.key_typed) out += " --key KEY";
  return out;
}

std::string client_options(const ClientOptions& options) {
  return gateway_options(options) + (options.json ? " --json" : "") + (options.quiet ? " --quiet" : "") +
         (options.no_color ? " --no-color" : "");
}

namespace {

constexpr std::uint16_t kAnyPort = 1;

}  // namespace

bool is_local_gateway(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    // A URL with credentials or a backslash is not recognised as local.
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
  return "\"" + std::string(url) + "\" is not a URL such as http://127.0.0.1:8080";
}

}  // namespace millrace::cli
