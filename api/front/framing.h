#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include "api/front/exchange.h"

// How a request begins and how its body is delimited (RFC 9112), as pure functions: no socket, no clock, no
// Pistache.
namespace millrace::front {

// Why a request is not taken: the status and a text for the client. The connection is closed after it.
struct Refusal {
  int status = 400;
  std::string_view message;  // a literal
};

// A head whose grammar and framing were checked. `head.peer` and `head.arrived` are the caller's to fill.
struct CheckedHead {
  Head head;
  bool http10 = false;
  bool keep_alive = true;
  bool expect_continue = false;

  bool has_body() const { return head.chunked || head.content_length.value_or(0) > 0; }
};

enum class HeadState { kIncomplete, kComplete, kMalformed };
struct HeadScan {
  HeadState state = HeadState::kIncomplete;
  std::size_t end = 0;  // kComplete: bytes of the head, with its empty line
};

// Looks for the empty line that ends a head. `scanned` (0 for a new head) remembers how far earlier calls
// came, so that each byte is looked at once. It reports at once what can never become a head: a
// bare LF, or a first byte that begins no method (TLS, binary).
HeadScan scan_head(std::string_view input, std::size_t& scanned);

// The count of leading CR LF pairs, which a server skips before a request line (RFC 9112 §2.2), in bytes.
std::size_t leading_empty_lines(std::string_view input);

// Checks `text` (from scan_head: it ends with CRLF CRLF) and fills `out`. On a refusal `out.head.method` and
// `.path` are set if the request line itself was good.
std::optional<Refusal> check_head(std::string_view text, std::size_t headers_max, CheckedHead& out);

}  // namespace millrace::front
