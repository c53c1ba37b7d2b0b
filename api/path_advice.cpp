#include "api/path_advice.h"

#include <array>

namespace millrace::api {
namespace {

constexpr std::string_view kVersion = "/v1";
constexpr std::size_t kShownMax = 128;  // bytes of a path that is said back

// What users of OpenAI's API ask for, and what does it here.
struct Advice {
  std::string_view path;  // and all below
  std::string_view text;
};
constexpr std::array kAdvice{
    Advice{"/v1/responses", "chat is at /v1/chat/completions, which takes `input` and `instructions`, too"},
    Advice{"/v1/completions", "chat is at /v1/chat/completions"},
    Advice{"/v1/audio", "this gateway neither hears nor speaks; what it does is in /openapi.json"},
    Advice{"/v1/batches", "send each request to /v1/chat/completions with \"deferred\": true"},
    Advice{"/v1/files", "files go into the request itself, as data URIs"},
};

bool is_at(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

bool is_known(const Router& router, std::string_view path) {
  const Match match = router.match("GET", path);
  return match.route != nullptr || !match.allow.empty();
}

// With the version that was forgotten, without the one that was said twice.
std::string mended(std::string_view path) {
  if (!is_at(path, kVersion)) return std::string(kVersion).append(path);
  path.remove_prefix(kVersion.size());
  return std::string(is_at(path, kVersion) ? path : std::string_view());
}

}  // namespace

std::string no_such_path(const Router& router, std::string_view path) {
  std::string message = "There is nothing at this path";
  if (path.size() > kShownMax || !path.starts_with('/')) return message;
  const std::string other = mended(path);
  if (is_known(router, other)) return message.append(": it is ").append(other);
  for (const Advice& each : kAdvice) {
    if (is_at(path, each.path) || is_at(other, each.path)) return message.append(": ").append(each.text);
  }
  return message;
}

}  // namespace millrace::api
