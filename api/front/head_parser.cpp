#include "api/front/head_parser.h"

#include <array>
#include <exception>
#include <string>
#include <string_view>

#include <pistache/http.h>

namespace millrace::front {
namespace {

constexpr std::size_t kAroundPath = 32;          // method, version and the ends of lines
constexpr std::size_t kLineBytesMax = 1u << 20;  // above every Limits::head_bytes_max

// Pistache knows nine methods; another valid token is the application's to refuse (405), so it is shown as
// GET.
std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 9> kKnown = {"OPTIONS", "GET",    "POST",  "HEAD",   "PUT",
                                                      "PATCH",   "DELETE", "TRACE", "CONNECT"};
  for (std::string_view known : kKnown) {
    if (method == known) return method;
  }
  return "GET";
}

std::string line_for_pistache(const CheckedHead& checked) {
  const Head& head = checked.head;
  std::string text;
  text.reserve(head.path.size() + kAroundPath);
  text.append(known_method(head.method)).append(" ").append(head.path);
  return text.append(checked.http10 ? " HTTP/1.0\r\n\r\n" : " HTTP/1.1\r\n\r\n");
}

// One per thread: making one costs more than what it does here.
Pistache::Http::RequestParser& line_parser() {
  thread_local Pistache::Http::RequestParser parser(kLineBytesMax);
  parser.reset();
  return parser;
}

}  // namespace

bool parse_by_pistache(CheckedHead& checked) {
  try {
    const std::string text = line_for_pistache(checked);
    Pistache::Http::RequestParser& parser = line_parser();
    if (!parser.feed(text.data(), text.size())) return false;
    if (parser.parse() != Pistache::Http::Private::State::Done) return false;
    checked.head.path = parser.request.resource();
    checked.http10 = parser.request.version() == Pistache::Http::Version::Http10;
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace millrace::front
