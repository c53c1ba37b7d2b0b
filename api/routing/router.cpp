#include "api/routing/router.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace millrace::api {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The text before and after the first `mark`; without a mark, the whole text and an empty one.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool is_param(std::string_view segment) { return segment.starts_with('{'); }
bool is_rest(std::string_view segment) { return segment.ends_with("...}"); }

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t slash = std::min(path.find('/'), path.size());
    out.push_back(path.substr(0, slash));
    path.remove_prefix(slash);
  }
  return out;
}

bool take_param(std::string_view raw, std::vector<std::string>& params) {
  auto text = percent_decoded(raw);
  if (!text || text->empty()) return false;
  params.push_back(std::move(*text));
  return true;
}

// Matches `path` against a pattern's segments without allocating a list.
bool fits(const std::vector<std::string_view>& segments, std::string_view path,
          std::vector<std::string>& params) {
  params.clear();
  for (std::string_view segment : segments) {
    if (path.empty()) return false;
    path.remove_prefix(1);
    if (is_rest(segment)) return take_param(path, params);
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view here = path.substr(0, slash);
    if (is_param(segment) ? !take_param(here, params) : here != segment) return false;
    path.remove_prefix(slash);
  }
  return path.empty();
}

std::optional<Method> known(std::string_view method) {
  if (method == "GET" || method == "HEAD") return Method::kGet;
  if (method == "POST") return Method::kPost;
  if (method == "PUT") return Method::kPut;
  if (method == "PATCH") return Method::kPatch;
  if (method == "DELETE") return Method::kDelete;
  return std::nullopt;
}

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "";
}

Router::Router(std::span<const Route> table) {
  for (const Route& route : table) add(route);
}

void Router::add(const Route& route) {
  auto at =
      std::find_if(paths_.begin(), paths_.end(), [&](const Path& p) { return p.pattern == route.pattern; });
  if (at == paths_.end()) {
    if (route.pattern.find('{') == std::string_view::npos) exact_.emplace(route.pattern, paths_.size());
    at = paths_.insert(at, Path{route.pattern, split(route.pattern), {}, {}});
  }
  at->routes.push_back(&route);
  if (!at->allow.empty()) at->allow += ", ";
  at->allow += name(route.method);
  if (route.method == Method::kGet && route.takes_head) at->allow += ", HEAD";
}

const Router::Path* Router::find(std::string_view path, std::vector<std::string>& params) const {
  const auto exact = exact_.find(path);
  if (exact != exact_.end()) return &paths_[exact->second];
  if (!path.starts_with('/')) return nullptr;
  for (const Path& each : paths_) {
    if (fits(each.segments, path, params)) return &each;
  }
  return nullptr;
}

Match Router::match(std::string_view method, std::string_view path) const {
  Match out;
  const Path* found = find(path, out.params);
  if (found == nullptr) return out;
  const auto requested = known(method);
  for (const Route* route : found->routes) {
    if (requested == route->method && (method != "HEAD" || route->takes_head)) out.route = route;
  }
  if (out.route == nullptr) out.allow = found->allow;
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = text.size() - i > 2 ? hex_digit(text[i + 1]) : -1;
    const int low = text.size() - i > 2 ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

schemas::QueryPairs query_pairs(std::string_view query) {
  const auto decoded = [](std::string_view raw) {
    std::string text(raw);
    std::replace(text.begin(), text.end(), '+', ' ');
    return percent_decoded(text).value_or(text);
  };
  schemas::QueryPairs out;
  while (!query.empty()) {
    const auto [pair, rest] = cut(query, '&');
    const auto [name, value] = cut(pair, '=');
    if (!pair.empty()) out.emplace_back(decoded(name), decoded(value));
    query = rest;
  }
  return out;
}

std::optional<std::string_view> invalid_pair(std::string_view query) {
  while (!query.empty()) {
    const auto [pair, rest] = cut(query, '&');
    if (pair.find('%') != std::string_view::npos && !percent_decoded(pair)) return pair;
    query = rest;
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kVersion = "/v1";
constexpr std::size_t kShownMax = 128;  // bytes of the path that the message repeats

// Paths of other APIs, and the endpoint here that does the same.
struct Advice {
  std::string_view path;  // applies to all paths below it, too
  std::string_view text;
};
constexpr std::array kAdvice{
    Advice{"/v1/responses", "chat is at /v1/chat/completions, which also accepts `input` and `instructions`"},
    Advice{"/v1/chat/completions",
           "completions are not stored, except deferred ones, which are at "
           "/v1/chat/deferred-completion/{request_id}"},
    Advice{"/v1/completions", "chat is at /v1/chat/completions"},
    Advice{"/v1/messages", "chat is at /v1/chat/completions, in OpenAI's format"},
    Advice{"/v1/audio", "audio is at /v1/audio/speech, /v1/audio/transcriptions and /v1/audio/translations"},
    Advice{"/v1/images", "images are generated at /v1/images/generations; editing is not supported"},
    Advice{"/v1/moderations", "moderation is not supported"},
};

bool is_at(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

bool is_known(const Router& router, std::string_view path) {
  const Match match = router.match("GET", path);
  return match.route != nullptr || !match.allow.empty();
}

// Adds a missing version; removes a repeated version and empty segments.
std::string mended(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c != '/' || !out.ends_with('/')) out += c;
  }
  if (out.ends_with('/')) out.pop_back();
  if (!is_at(out, kVersion)) return std::string(kVersion).append(out);
  if (is_at(std::string_view(out).substr(kVersion.size()), kVersion)) out.erase(0, kVersion.size());
  return out;
}

}  // namespace

std::string no_such_path(const Router& router, std::string_view path) {
  std::string message = "There is no endpoint at this path";
  if (path.size() > kShownMax || !path.starts_with('/')) return message;
  const std::string other = mended(path);
  if (is_known(router, other)) return message.append("; use ").append(other);
  for (const Advice& each : kAdvice) {
    if (is_at(path, each.path) || is_at(other, each.path)) return message.append(": ").append(each.text);
  }
  return message;
}

}  // namespace millrace::api
