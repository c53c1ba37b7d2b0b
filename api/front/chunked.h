#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::front {

// Decodes one chunked body (RFC 9112 §7.1), in whatever pieces it comes. Strict: hexadecimal digits and CR LF
// only; extensions and trailers are read and dropped. Pure: no socket, no clock.
class ChunkedDecoder {
 public:
  enum class State {
    kMore,  // all of `input` was taken, the body goes on
    kDone,  // the body is whole; the rest of `input` belongs to the next request
    kMalformed,
    kTooLarge,  // the body would pass `body_max`
  };

  explicit ChunkedDecoder(std::size_t body_max) : body_max_(body_max) {}

  std::size_t body_max() const { return body_max_; }

  // Takes what it can from the front of `input` and appends the decoded bytes to `body`, which keeps
  // kBodyPadding bytes of capacity past its end. After anything but kMore the decoder is at its end.
  State feed(std::string_view& input, std::string& body);

 private:
  enum class Step { kSize, kExtension, kSizeLf, kData, kDataCr, kDataLf, kTrailer, kTrailerLf };

  State take(char c);
  State take_size(char c);
  State end_of_size_line();
  State take_trailer(char c);
  void append(std::string_view& input, std::string& body);

  std::size_t body_max_;
  std::size_t decoded_ = 0;  // of finished chunks and of this one's declared size
  std::uint64_t left_ = 0;   // of the chunk: digits so far, then bytes still to come
  std::size_t digits_ = 0;
  std::size_t line_bytes_ = 0;     // of this size line's extension
  std::size_t trailer_bytes_ = 0;  // of all trailers
  bool line_empty_ = true;         // of this trailer line
  Step step_ = Step::kSize;
};

}  // namespace millrace::front
