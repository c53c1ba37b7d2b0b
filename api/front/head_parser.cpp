#include "api/front/head_parser.h"

#include <array>
#include <exception>
#include <string>
#include <string_view>

#include <pistache/http.h>

namespace millrace::front {
namespace {

// A name that no registered header has: Pistache keeps the line as a raw header.
constexpr std::string_view kHide = "Raw-";

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

std::string text_for_pistache(const CheckedHead& checked) {
  const Head& head = checked.head;
  std::size_t size = head.path.size() + 32;
  for (const Header& header : head.headers)
    size += kHide.size() + header.name.size() + header.value.size() + 4;
  std::string text;
  text.reserve(size);
  text.append(known_method(head.method)).append(" ").append(head.path);
  text.append(checked.http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
  for (const Header& header : head.headers) {
    text.append(kHide).append(header.name).append(": ").append(header.value).append("\r\n");
  }
  return text.append("\r\n");
}

}  // namespace

bool parse_by_pistache(CheckedHead& checked) {
  try {
    const std::string text = text_for_pistache(checked);
    Pistache::Http::RequestParser parser(text.size());
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
