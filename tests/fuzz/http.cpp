#include <algorithm>
#include <string>

#include "api/front/characters.h"
#include "api/front/chunked.h"
#include "api/front/exchange.h"
#include "api/front/framing.h"
#include "tests/fuzz/fuzz.h"

// HTTP framing. The input is what a client sends: empty lines, a head, a body.
namespace millrace::front {
namespace {

using fuzz::require;

constexpr std::size_t kHeadersMax = 16, kBodyMax = 4096;

HeadScan scan(std::string_view input) {
  std::size_t scanned = 0;
  return scan_head(input, scanned);
}

void check_scan_in_pieces(std::string_view input, const HeadScan& whole) {
  std::size_t scanned = 0;
  HeadScan scan = scan_head(fuzz::two_pieces(input).first, scanned);
  if (scan.state == HeadState::kIncomplete) scan = scan_head(input, scanned);
  require(scan.state == whole.state && scan.end == whole.end, "a head ends at the same byte in pieces");
}

std::size_t count(const Head& head, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      head.headers, [&](const Header& header) { return same_name(header.name, name); }));
}

void check_one_framing(const CheckedHead& checked) {
  const Head& head = checked.head;
  require(!(head.chunked && head.content_length), "a request has one framing");
  require(head.chunked == (count(head, "transfer-encoding") == 1), "chunked as its header says");
  require(head.content_length.has_value() == (count(head, "content-length") > 0),
          "a length as its header says");
  require(checked.http10 ? count(head, "host") <= 1 && !head.chunked : count(head, "host") == 1, "one host");
  require(head.headers.size() <= kHeadersMax + 1, "no more headers than allowed");  // 1: of the absolute form
  require(is_token(head.method) && !head.path.empty(), "a method and a path");
  for (const Header& header : head.headers)
    require(is_token(header.name) && all_in(kValueChars, header.value), "no control characters in headers");
}

std::string written(const CheckedHead& checked) {
  const Head& head = checked.head;
  std::string text = head.method + " " + head.path;
  if (!head.query.empty()) text += "?" + head.query;
  text += checked.http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";
  for (const Header& header : head.headers)
    text.append(header.name).append(": ").append(header.value).append("\r\n");
  return text + "\r\n";
}

void check_same_when_sent_on(const CheckedHead& checked) {
  CheckedHead again;
  require(!check_head(written(checked), kHeadersMax + 1, again), "an accepted head is accepted again");
  require(written(again) == written(checked) && again.head.chunked == checked.head.chunked &&
              again.head.content_length == checked.head.content_length &&
              again.keep_alive == checked.keep_alive,
          "an accepted head means the same when it is sent on");
}

struct Decoded {
  ChunkedDecoder::State state = ChunkedDecoder::State::kMore;
  std::string body;
  std::size_t left = 0;
};

Decoded decoded(std::string_view first, std::string_view rest = {}) {
  Decoded result;
  ChunkedDecoder decoder(kBodyMax);
  result.state = decoder.feed(first, result.body);
  if (result.state == ChunkedDecoder::State::kMore) result.state = decoder.feed(rest, result.body);
  result.left = first.size() + rest.size();
  return result;
}

void check_chunks(std::string_view input) {
  const auto [first, rest] = fuzz::two_pieces(input);
  const Decoded whole = decoded(input), pieces = decoded(first, rest);
  require(whole.state == pieces.state && whole.body == pieces.body && whole.left == pieces.left,
          "chunks give the same body in pieces");
  require(whole.body.size() <= kBodyMax, "a body within its bound");
}

void check_request(std::string_view input) {
  input.remove_prefix(leading_empty_lines(input));
  const HeadScan whole = scan(input);
  check_scan_in_pieces(input, whole);
  if (whole.state != HeadState::kComplete) return check_chunks(input);
  CheckedHead checked;
  if (const auto refusal = check_head(input.substr(0, whole.end), kHeadersMax, checked)) {
    require(refusal->status >= 400 && refusal->status < 600 && !refusal->message.empty(),
            "a refusal says why");
    return;
  }
  check_one_framing(checked);
  check_same_when_sent_on(checked);
  if (checked.head.chunked) check_chunks(input.substr(whole.end));
}

}  // namespace
}  // namespace millrace::front

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::front::check_request(millrace::fuzz::text_of(data, size));
  return 0;
}
