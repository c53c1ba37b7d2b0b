#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include "api/front/exchange.h"

// Parses request heads and body framing (RFC 9112). Pure functions: no socket, no clock, no Pistache.
namespace millrace::front {

// Why a request is rejected: the status and a message for the client. The connection is closed afterwards.
struct HeadError {
  int status = 400;
  std::string_view message;  // a literal
};

// A head with checked grammar and framing. The caller sets `head.peer` and `head.arrived`.
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
  std::size_t end = 0;  // kComplete: size of the head, including its empty line
};

// Searches for the empty line that ends a head. `scanned` (0 for a new head) stores the progress of earlier
// calls, so that each byte is scanned once. Input that cannot become a head is kMalformed at once: a bare LF,
// or a first byte that cannot begin a method (TLS, binary).
HeadScan scan_head(std::string_view input, std::size_t& scanned);

// The size of the leading CR LF pairs in bytes. A server skips them before a request line (RFC 9112 §2.2).
std::size_t leading_empty_lines(std::string_view input);

// Checks `text` (from scan_head, so it ends with CRLF CRLF) and fills `out`. On a refusal `out.head.method`
// and `.path` are set if the request line is valid.
std::optional<HeadError> check_head(std::string_view text, std::size_t headers_max, CheckedHead& out);

}  // namespace millrace::front
