#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::front {

// Incremental decoder for one chunked body (RFC 9112 §7.1). Strict: only hexadecimal digits and CR LF.
// Extensions and trailers are checked and dropped. Pure: no socket, no clock.
class ChunkedDecoder {
 public:
  enum class State {
    kMore,  // all of `input` was consumed; the body is incomplete
    kDone,  // the body is complete; the rest of `input` belongs to the next request
    kMalformed,
    kTooLarge,  // the body would exceed `body_max`
  };

  explicit ChunkedDecoder(std::size_t body_max) : body_max_(body_max) {}

  std::size_t body_max() const { return body_max_; }

  // Consumes bytes from the front of `input` and appends the decoded bytes to `body`, which keeps
  // kBodyPadding bytes of capacity past its end. After a result other than kMore the decoder must not be
  // used.
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
  std::uint64_t left_ = 0;   // of the chunk: its size as read so far, then the bytes still missing
  std::size_t digits_ = 0;
  std::size_t line_bytes_ = 0;     // of this size line's extension
  std::size_t trailer_bytes_ = 0;  // of all trailers
  std::string trailer_;            // this line
  Step step_ = Step::kSize;
};

}  // namespace millrace::front
