#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "platform/net/http_client.h"
#include "platform/net/plain_url.h"

// HTTP/1.1 heads, as pure functions: no socket, no clock. Upstreams are half trusted, so what can be read in
// two ways is refused (RFC 9112 §6.3).
namespace millrace::net {

inline constexpr std::size_t kReplyHeadBytesMax = 64u << 10;
inline constexpr std::size_t kReplyFieldsMax = 256;

// How a reply's body is delimited.
enum class Framing : std::uint8_t { kNone, kLength, kChunked, kUntilClose };
struct ReplyFraming {
  Framing form = Framing::kNone;
  std::uint64_t length = 0;  // kLength
  bool keeps = false;        // the connection may carry another request
  bool interim = false;      // 100 to 199: another head follows
};

// The request line and fields of `request`, up to the empty line. kUpstream: a field that cannot be sent.
base::Result<std::string> request_head(const HttpRequest& request, const PlainUrl& url);

// `text` ends with its empty line. Fills `reply` but for its body. `bodiless`: the reply to a HEAD.
// kUpstream: no HTTP/1 head, a folded field, lengths that contradict each other, more than kReplyFieldsMax
// fields.
base::Result<ReplyFraming> read_reply_head(std::string_view text, bool bodiless, HttpReply& reply);

}  // namespace millrace::net
