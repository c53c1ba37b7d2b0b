#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/http/http_text.h"

// Parses and formats HTTP/1.1 messages. Pure functions without sockets and clocks. Upstreams are only partly
// trusted, so ambiguous responses are rejected (RFC 9112 §6.3).
namespace millrace::net {

inline constexpr std::size_t kReplyHeadBytesMax = 64u << 10;
inline constexpr std::size_t kReplyFieldsMax = 256;

// How the body of a response is delimited.
enum class Framing : std::uint8_t { kNone, kLength, kChunked, kUntilClose };
struct ReplyFraming {
  Framing form = Framing::kNone;
  std::uint64_t length = 0;  // kLength
  bool keeps = false;        // the connection can be reused
  bool interim = false;      // status 100 to 199: another head follows
};

// The request line and fields of `request`, including the empty line. kUpstream: a field contains characters
// that cannot be sent.
base::Result<std::string> request_head(const HttpRequest& request, const PlainUrl& url);

// Parses a head; `text` must end with the empty line. Fills `reply` except for the body. `bodiless`: the
// request was HEAD. kUpstream: not an HTTP/1 head, a folded field, contradicting lengths, or more than
// kReplyFieldsMax fields.
base::Result<ReplyFraming> read_reply_head(std::string_view text, bool bodiless, HttpReply& reply);

// Extracts the body of one response from its framing, from pieces of any size and without copying. Strict:
// only hexadecimal digits and CR LF. Extensions and trailers are limited and dropped. No I/O.
class BodyFrames {
 public:
  enum class State : std::uint8_t {
    kMore,   // all of `input` was consumed; the body continues
    kPiece,  // `piece` is the next part of the body
    kDone,   // the body is complete; the rest of `input` does not belong to it
    kBroken,
  };
  explicit BodyFrames(ReplyFraming framing = {});

  // Consumes from the front of `input` until it is empty or the state changes.
  State next(std::string_view& input, std::string_view& piece);
  // True if the end of the connection at this point is the end of the body.
  bool may_end_here() const { return form_ == Framing::kUntilClose; }

 private:
  enum class Step : std::uint8_t {
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailer,
    kTrailerLf
  };
  State next_of_chunks(std::string_view& input, std::string_view& piece);
  bool take(char c);
  bool take_size(char c);
  void end_line();
  State cut(std::string_view& input, std::string_view& piece);

  Framing form_;
  Step step_ = Step::kSize;
  bool line_empty_ = true, done_ = false;
  std::uint8_t digits_ = 0;
  std::uint16_t more_bytes_ = 0;  // bytes of extensions, or of all trailers
  std::uint64_t left_;            // remaining bytes of the chunk or of the body
};

}  // namespace millrace::net
