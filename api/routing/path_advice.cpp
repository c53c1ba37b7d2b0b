#include "api/routing/path_advice.h"

#include <array>

namespace millrace::api {
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
    Advice{"/v1/completions", "chat is at /v1/chat/completions"},
    Advice{"/v1/messages", "chat is at /v1/chat/completions, in OpenAI's format"},
    Advice{"/v1/audio", "audio is at /v1/audio/speech, /v1/audio/transcriptions and /v1/audio/translations"},
    Advice{"/v1/images", "images are generated at /v1/images/generations; editing is not supported"},
    Advice{"/v1/batches", "send each request to /v1/chat/completions with \"deferred\": true"},
    Advice{"/v1/batch", "send each request to /v1/chat/completions with \"deferred\": true"},
    Advice{"/v1/files", "files are sent inside the request, as data URIs"},
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
