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
constexpr std::size_t kLineKeptMax = 256;        // longest line that is cached

// Pistache knows nine methods. For any other valid token it gets GET, and the application rejects the method
// (405).
std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 9> kKnown = {"OPTIONS", "GET",    "POST",  "HEAD",   "PUT",
                                                      "PATCH",   "DELETE", "TRACE", "CONNECT"};
  for (std::string_view known : kKnown) {
    if (method == known) return method;
  }
  return "GET";
}

// A request line and the result of Pistache's parser.
struct KnownLine {
  std::string text, resource;
  bool http10 = false;
};

// The last valid line of this thread, because clients often repeat the same request.
KnownLine& last_line() {
  thread_local KnownLine line;
  return line;
}

std::string line_for_pistache(const CheckedHead& checked) {
  const Head& head = checked.head;
  std::string text;
  text.reserve(head.path.size() + kAroundPath);
  text.append(known_method(head.method)).append(" ").append(head.path);
  return text.append(checked.http10 ? " HTTP/1.0\r\n\r\n" : " HTTP/1.1\r\n\r\n");
}

// One parser per thread, because creating one costs more than parsing a line.
Pistache::Http::RequestParser& line_parser() {
  thread_local Pistache::Http::RequestParser parser(kLineBytesMax);
  parser.reset();
  return parser;
}

bool read_line(KnownLine& line) {
  Pistache::Http::RequestParser& parser = line_parser();
  if (!parser.feed(line.text.data(), line.text.size())) return false;
  if (parser.parse() != Pistache::Http::Private::State::Done) return false;
  line.resource = parser.request.resource();
  line.http10 = parser.request.version() == Pistache::Http::Version::Http10;
  return true;
}

bool take(const KnownLine& line, CheckedHead& checked) {
  checked.head.path = line.resource;
  checked.http10 = line.http10;
  return true;
}

}  // namespace

bool parse_by_pistache(CheckedHead& checked) {
  try {
    std::string text = line_for_pistache(checked);
    KnownLine& last = last_line();
    if (text != last.text) {
      KnownLine read{.text = std::move(text), .resource = {}};
      if (!read_line(read)) return false;
      if (read.text.size() > kLineKeptMax) return take(read, checked);
      last = std::move(read);
    }
    return take(last, checked);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace millrace::front
