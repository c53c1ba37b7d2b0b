#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/net/plain_head.h"

namespace millrace::net {

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
