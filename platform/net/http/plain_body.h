#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/http/plain_url.h"

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

// Takes the body of one reply out of its framing, in whatever pieces it comes; nothing is copied. Strict:
// hexadecimal digits and CR LF only; extensions and trailers are dropped and bounded. Pure.
class BodyFrames {
 public:
  enum class State : std::uint8_t {
    kMore,   // `input` is used up, the body goes on
    kPiece,  // `piece` is what comes next of the body
    kDone,   // the body is whole; the rest of `input` is not of this reply
    kBroken,
  };
  explicit BodyFrames(ReplyFraming framing = {});

  // Takes from the front of `input`, until it is used up or something is to be told.
  State next(std::string_view& input, std::string_view& piece);
  // The connection has ended where the body may end.
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
  std::uint16_t more_bytes_ = 0;  // of extensions, or of all trailers
  std::uint64_t left_;            // of the chunk, or of the length
};

}  // namespace millrace::net
