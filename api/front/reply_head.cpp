#include "api/front/reply_head.h"

#include <array>
#include <charconv>
#include <utility>

#include <strings.h>

#include "api/front/characters.h"
#include "platform/base/result.h"

namespace millrace::front {
namespace {

void append_number(std::string& text, std::size_t number) {
  std::array<char, 20> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc{}) text.append(digits.data(), end);
}

void append_two_digits(std::string& text, long number) {
  text.push_back(static_cast<char>('0' + number / 10));
  text.push_back(static_cast<char>('0' + number % 10));
}

// IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
void append_new_date(std::string& text, std::chrono::system_clock::time_point now) {
  using namespace std::chrono;
  constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(floor<seconds>(now - day));
  text.append("Date: ").append(kDays[weekday(day).c_encoding()]).append(", ");
  append_two_digits(text, static_cast<unsigned>(date.day()));
  text.append(" ").append(kMonths[static_cast<unsigned>(date.month()) - 1]).append(" ");
  append_number(text, static_cast<std::size_t>(static_cast<int>(date.year())));
  text.push_back(' ');
  append_two_digits(text, time.hours().count());
  text.push_back(':');
  append_two_digits(text, time.minutes().count());
  text.push_back(':');
  append_two_digits(text, time.seconds().count());
  text.append(" GMT\r\n");
}

// Each thread formats the date once a second.
void append_date(std::string& text, std::chrono::system_clock::time_point now) {
  struct Written {
    std::chrono::sys_seconds second{};
    std::string line = {};
  };
  thread_local Written last;
  const auto second = std::chrono::floor<std::chrono::seconds>(now);
  if (last.line.empty() || second != last.second) {
    last.line.clear();
    append_new_date(last.line, now);
    last.second = second;
  }
  text.append(last.line);
}

// The length is checked first because that is cheap.
bool written_here(std::string_view name) {
  const auto is = [name](const char* own) { return strncasecmp(own, name.data(), name.size()) == 0; };
  switch (name.size()) {
    case 4:
      return is("date");
    case 10:
      return is("connection");
    case 12:
      return is("content-type");
    case 14:
      return is("content-length");
    case 17:
      return is("transfer-encoding");
    default:
      return false;
  }
}

void append_header(std::string& text, std::string_view name, std::string_view value) {
  if (!is_token(name) || !all_in(kValueChars, value)) return;
  text.append(name).append(": ").append(value).append("\r\n");
}

void append_framing(std::string& text, BodyFraming framing, std::size_t content_length) {
  switch (framing) {
    case BodyFraming::kLength:
      text.append("Content-Length: ");
      append_number(text, content_length);
      text.append("\r\n");
      break;
    case BodyFraming::kChunked:
      text.append("Transfer-Encoding: chunked\r\n");
      break;
    case BodyFraming::kUntilClose:
    case BodyFraming::kNone:
      break;
  }
}

void append_connection(std::string& text, ConnectionHeader connection) {
  switch (connection) {
    case ConnectionHeader::kNone:
      break;
    case ConnectionHeader::kClose:
      text.append("Connection: close\r\n");
      break;
    case ConnectionHeader::kKeepAlive:
      text.append("Connection: keep-alive\r\n");
      break;
  }
}

}  // namespace

bool is_bodiless(int status) { return status < 200 || status == 204 || status == 304; }

std::string reply_head(const Reply& reply, BodyFraming framing, std::size_t content_length,
                       ConnectionHeader connection, std::chrono::system_clock::time_point now) {
  constexpr std::size_t kUsualSize = 256;
  std::string text;
  text.reserve(kUsualSize);
  text.append("HTTP/1.1 ");
  append_number(text, static_cast<std::size_t>(reply.status));
  text.append(" ").append(base::http_phrase(reply.status)).append("\r\n");
  append_date(text, now);
  if (!reply.content_type.empty()) append_header(text, "Content-Type", reply.content_type);
  append_framing(text, framing, content_length);
  append_connection(text, connection);
  for (const Header& header : reply.headers) {
    if (!written_here(header.name)) append_header(text, header.name, header.value);
  }
  return text.append("\r\n");
}

}  // namespace millrace::front
