#include "api/front/chunked.h"

#include <algorithm>
#include <array>
#include <limits>

#include "api/front/characters.h"
#include "api/front/exchange.h"

namespace millrace::front {
namespace {

constexpr std::size_t kSizeDigitsMax = 16;
constexpr std::uint64_t kSizeMax = std::numeric_limits<std::int64_t>::max();  // larger sizes are malformed
constexpr std::size_t kExtensionBytesMax = 256;
constexpr std::size_t kTrailerBytesMax = 8 * 1024;

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_text(char c) { return kValueChars[static_cast<unsigned char>(c)]; }

// Fields that must not be in a trailer, because they say where a request ends or to whom it goes (RFC 9110
// §6.5.1).
constexpr std::array<std::string_view, 5> kNoTrailers = {"content-length", "host", "te", "trailer",
                                                         "transfer-encoding"};

// `NAME: value`; the characters have been checked.
bool is_trailer(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  if (name.size() == line.size() || !is_token(name)) return false;
  return std::ranges::none_of(kNoTrailers,
                              [&](std::string_view refused) { return same_name(refused, name); });
}

}  // namespace

ChunkedDecoder::State ChunkedDecoder::feed(std::string_view& input, std::string& body) {
  while (!input.empty()) {
    if (step_ == Step::kData) {
      append(input, body);
      continue;
    }
    const char c = input.front();
    input.remove_prefix(1);
    const State state = take(c);
    if (state != State::kMore) return state;
  }
  return State::kMore;
}

void ChunkedDecoder::append(std::string_view& input, std::string& body) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  const std::size_t needed = body.size() + count + kBodyPadding;
  if (body.capacity() < needed) body.reserve(std::max(needed, body.capacity() * 2));
  body.append(input.substr(0, count));
  input.remove_prefix(count);
  left_ -= count;
  if (left_ == 0) step_ = Step::kDataCr;
}

ChunkedDecoder::State ChunkedDecoder::take(char c) {
  const auto expect = [&](char expected, Step next) {
    step_ = next;
    return c == expected ? State::kMore : State::kMalformed;
  };
  switch (step_) {
    case Step::kSize:
      return take_size(c);
    case Step::kExtension:
      if (c == '\r') return expect('\r', Step::kSizeLf);
      return is_text(c) && ++line_bytes_ <= kExtensionBytesMax ? State::kMore : State::kMalformed;
    case Step::kSizeLf:
      return c == '\n' ? end_of_size_line() : State::kMalformed;
    case Step::kData:
      break;
    case Step::kDataCr:
      return expect('\r', Step::kDataLf);
    case Step::kDataLf:
      return expect('\n', Step::kSize);
    case Step::kTrailer:
      return take_trailer(c);
    case Step::kTrailerLf:
      if (c != '\n') return State::kMalformed;
      if (trailer_.empty()) return State::kDone;
      if (!is_trailer(trailer_)) return State::kMalformed;
      trailer_.clear();
      step_ = Step::kTrailer;
      return State::kMore;
  }
  return State::kMalformed;
}

ChunkedDecoder::State ChunkedDecoder::take_size(char c) {
  const int value = hex_value(c);
  if (value >= 0) {
    if (++digits_ > kSizeDigitsMax) return State::kMalformed;
    left_ = left_ * 16 + static_cast<std::uint64_t>(value);
    return State::kMore;
  }
  if (digits_ == 0) return State::kMalformed;
  if (c == '\r') {
    step_ = Step::kSizeLf;
    return State::kMore;
  }
  step_ = Step::kExtension;
  return c == ';' ? State::kMore : State::kMalformed;
}

ChunkedDecoder::State ChunkedDecoder::end_of_size_line() {
  digits_ = 0;
  line_bytes_ = 0;
  if (left_ == 0) {
    step_ = Step::kTrailer;
    return State::kMore;
  }
  if (left_ > kSizeMax) return State::kMalformed;
  if (left_ > body_max_ - decoded_) return State::kTooLarge;
  decoded_ += static_cast<std::size_t>(left_);
  step_ = Step::kData;
  return State::kMore;
}

ChunkedDecoder::State ChunkedDecoder::take_trailer(char c) {
  if (c == '\r') {
    step_ = Step::kTrailerLf;
    return State::kMore;
  }
  if (!is_text(c) || ++trailer_bytes_ > kTrailerBytesMax) return State::kMalformed;
  trailer_.push_back(c);
  return State::kMore;
}

}  // namespace millrace::front
