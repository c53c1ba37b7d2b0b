#include "api/front/framing.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "api/front/characters.h"

namespace millrace::front {
namespace {

using MaybeRefusal = std::optional<HeadError>;

constexpr std::string_view kLineEnd = "\r\n";

// Headers of which a second one is refused: a proxy in front might decide by the other one.
struct SingleHeader {
  std::string_view name;
  std::string_view message;
};
constexpr std::array kSingleHeaders = {
    SingleHeader{"authorization", "There are two Authorization headers."},
    SingleHeader{"content-encoding", "There are two Content-Encoding headers."},
    SingleHeader{"content-type", "There are two Content-Type headers."},
    SingleHeader{"idempotency-key", "There are two Idempotency-Key headers."},
    SingleHeader{"if-range", "There are two If-Range headers."},
    SingleHeader{"last-event-id", "There are two Last-Event-ID headers."},
    SingleHeader{"origin", "There are two Origin headers."},
    SingleHeader{"range", "There are two Range headers."},
    SingleHeader{"x-api-key", "There are two X-API-Key headers."},
};

// A bit for each length of these names, to skip most other headers.
constexpr std::uint32_t single_lengths() {
  std::uint32_t lengths = 0;
  for (const SingleHeader& header : kSingleHeaders) lengths |= 1u << header.name.size();
  return lengths;
}

// The framing headers, before they are checked together.
struct Framing {
  std::uint32_t singles = 0;  // those of kSingleHeaders that were seen, by bit
  int hosts = 0;
  bool transfer_encoding = false;
  bool close = false;
  bool keep_alive = false;
};

void set_path_and_query(std::string_view target, Head& head) {
  const std::size_t mark = target.find('?');
  head.path.assign(target.substr(0, mark));
  if (mark != std::string_view::npos) head.query.assign(target.substr(mark + 1));
}

// `http://host[:port][/path][?query]`: the authority replaces the Host header (RFC 9112 §3.2.2).
bool take_absolute_form(std::string_view target, Head& head, std::string& authority) {
  const std::size_t scheme_end = target.find("://");
  if (scheme_end == std::string_view::npos) return false;
  const std::string_view scheme = target.substr(0, scheme_end);
  if (!same_name(scheme, "http") && !same_name(scheme, "https")) return false;
  target.remove_prefix(scheme_end + 3);
  const std::size_t path_at = std::min(target.find_first_of("/?"), target.size());
  authority.assign(target.substr(0, path_at));
  if (authority.empty() || !all_in(kAuthorityChars, authority)) return false;
  set_path_and_query(target.substr(path_at), head);
  if (head.path.empty()) head.path = "/";
  return true;
}

bool take_target(std::string_view target, Head& head, std::string& authority) {
  if (target.empty() || !all_in(kTargetChars, target)) return false;
  if (target.front() == '/') {
    set_path_and_query(target, head);
    return true;
  }
  if (target == "*") {
    head.path = "*";
    return head.method == "OPTIONS";
  }
  if (head.method == "CONNECT") {
    head.path.assign(target);
    return all_in(kAuthorityChars, target);
  }
  return take_absolute_form(target, head, authority);
}

MaybeRefusal take_request_line(std::string_view line, CheckedHead& out, std::string& authority) {
  constexpr std::string_view kVersion = "HTTP/1.";
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return HeadError{400, "The request line is malformed."};
  const std::string_view version = line.substr(last + 1);
  if (version.size() != kVersion.size() + 1 || !version.starts_with(kVersion) ||
      (version.back() != '0' && version.back() != '1')) {
    return HeadError{400, "The HTTP version is not supported: use HTTP/1.1."};
  }
  out.http10 = version.back() == '0';
  out.head.method.assign(line.substr(0, first));
  if (!is_token(out.head.method) ||
      !take_target(line.substr(first + 1, last - first - 1), out.head, authority)) {
    out.head.method.clear();
    out.head.path.clear();
    out.head.query.clear();
    return HeadError{400, "The request line is malformed."};
  }
  return std::nullopt;
}

MaybeRefusal take_content_length(std::string_view value, Head& head) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  const bool digits_only = !value.empty() && end == value.data() + value.size() && error == std::errc{};
  if (!digits_only || (head.content_length && *head.content_length != length)) {
    return HeadError{400, "The Content-Length header is malformed."};
  }
  head.content_length = length;
  return std::nullopt;
}

MaybeRefusal take_transfer_encoding(std::string_view value, Framing& framing, Head& head) {
  if (framing.transfer_encoding) return HeadError{400, "There are two Transfer-Encoding headers."};
  framing.transfer_encoding = true;
  if (!same_name(value, "chunked")) return HeadError{501, "The only supported Transfer-Encoding is chunked."};
  head.chunked = true;
  return std::nullopt;
}

void take_connection(std::string_view value, Framing& framing) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view option = without_blanks(value.substr(0, comma));
    if (same_name(option, "close")) framing.close = true;
    if (same_name(option, "keep-alive")) framing.keep_alive = true;
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
}

MaybeRefusal take_single(std::string_view name, Framing& framing) {
  constexpr std::uint32_t kLengths = single_lengths();
  if (name.size() >= 32 || (kLengths >> name.size() & 1u) == 0) return std::nullopt;
  for (std::size_t i = 0; i < kSingleHeaders.size(); ++i) {
    if (!same_name(name, kSingleHeaders[i].name)) continue;
    if ((framing.singles >> i & 1u) != 0) return HeadError{400, kSingleHeaders[i].message};
    framing.singles |= 1u << i;
    break;
  }
  return std::nullopt;
}

// Handles the headers that affect framing; others are only stored. The length of the name is checked first
// because that is cheap.
MaybeRefusal take_known_header(std::string_view name, std::string_view value, Framing& framing,
                               CheckedHead& out) {
  switch (name.size()) {
    case 4:
      if (!same_name(name, "host")) break;
      ++framing.hosts;
      if (!all_in(kAuthorityChars, value)) return HeadError{400, "The Host header is malformed."};
      break;
    case 6:
      if (!same_name(name, "expect") || out.http10) break;
      if (!same_name(value, "100-continue"))
        return HeadError{417, "The only supported expectation is 100-continue."};
      out.expect_continue = true;
      break;
    case 10:
      if (same_name(name, "connection")) take_connection(value, framing);
      break;
    case 14:
      if (same_name(name, "content-length")) return take_content_length(value, out.head);
      break;
    case 17:
      if (same_name(name, "transfer-encoding")) return take_transfer_encoding(value, framing, out.head);
      break;
    default:
      break;
  }
  return std::nullopt;
}

MaybeRefusal take_header_line(std::string_view line, Framing& framing, CheckedHead& out) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  // A token has no space, so this also rejects `Host : x` and folded lines.
  if (colon == std::string_view::npos || !is_token(name))
    return HeadError{400, "A header name is malformed."};
  const std::string_view value = without_blanks(line.substr(colon + 1));
  if (!all_in(kValueChars, value)) return HeadError{400, "A header value contains a control character."};
  out.head.headers.push_back({std::string(name), std::string(value)});
  if (auto refusal = take_single(name, framing)) return refusal;
  return take_known_header(name, value, framing, out);
}

MaybeRefusal check_framing(const Framing& framing, const CheckedHead& out) {
  if (framing.hosts > 1 || (framing.hosts == 0 && !out.http10)) {
    return HeadError{400, "A request needs exactly one Host header."};
  }
  if (out.head.chunked && out.head.content_length) {
    return HeadError{400, "A request has either Content-Length or Transfer-Encoding, not both."};
  }
  if (out.head.chunked && out.http10) return HeadError{400, "HTTP/1.0 has no Transfer-Encoding."};
  return std::nullopt;
}

void replace_host(const std::string& authority, Head& head) {
  for (Header& header : head.headers) {
    if (same_name(header.name, "host")) {
      header.value = authority;
      return;
    }
  }
  head.headers.push_back({"Host", authority});
}

}  // namespace

HeadScan scan_head(std::string_view input, std::size_t& scanned) {
  if (scanned == 0 && !input.empty() && input.front() != '\r' &&
      !kTokenChars[static_cast<unsigned char>(input.front())]) {
    return {HeadState::kMalformed, 0};
  }
  while (scanned < input.size()) {
    const std::size_t at = input.find('\n', scanned);
    if (at == std::string_view::npos) break;
    if (at == 0 || input[at - 1] != '\r') return {HeadState::kMalformed, 0};
    scanned = at + 1;
    if (at >= 3 && input[at - 2] == '\n') return {HeadState::kComplete, scanned};
    if (at == 1) return {HeadState::kMalformed, 0};
  }
  scanned = input.size();
  return {HeadState::kIncomplete, 0};
}

std::size_t leading_empty_lines(std::string_view input) {
  std::size_t bytes = 0;
  while (input.substr(bytes, kLineEnd.size()) == kLineEnd) bytes += kLineEnd.size();
  return bytes;
}

std::optional<HeadError> check_head(std::string_view text, std::size_t headers_max, CheckedHead& out) {
  constexpr std::size_t kUsualHeaders = 8;
  std::string authority;
  Framing framing;
  const std::size_t line_end = text.find(kLineEnd);
  if (auto refusal = take_request_line(text.substr(0, line_end), out, authority)) return refusal;
  out.head.headers.reserve(kUsualHeaders);
  text.remove_prefix(line_end + kLineEnd.size());
  while (text.size() > kLineEnd.size()) {
    if (out.head.headers.size() == headers_max) return HeadError{431, "The request has too many headers."};
    const std::size_t end = text.find(kLineEnd);
    if (auto refusal = take_header_line(text.substr(0, end), framing, out)) return refusal;
    text.remove_prefix(end + kLineEnd.size());
  }
  out.keep_alive = !framing.close && (!out.http10 || framing.keep_alive);
  if (auto refusal = check_framing(framing, out)) return refusal;
  if (!authority.empty()) replace_host(authority, out.head);
  return std::nullopt;
}

}  // namespace millrace::front
