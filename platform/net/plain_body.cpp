#include "platform/net/plain_body.h"

#include <algorithm>
#include <utility>

namespace millrace::net {
namespace {

constexpr std::uint8_t kChunkDigitsMax = 15;
constexpr std::uint16_t kExtensionBytesMax = 1'024;  // of one chunk
constexpr std::uint16_t kReplyTrailerBytesMax = 8'192;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_line_letter(char c) { return static_cast<unsigned char>(c) >= ' ' || c == '\t'; }

}  // namespace

BodyFrames::BodyFrames(ReplyFraming framing) : form_(framing.form), left_(framing.length) {}

BodyFrames::State BodyFrames::next(std::string_view& input, std::string_view& piece) {
  switch (form_) {
    case Framing::kNone:
      return State::kDone;
    case Framing::kLength:
      if (left_ == 0) return State::kDone;
      return input.empty() ? State::kMore : cut(input, piece);
    case Framing::kUntilClose:
      piece = std::exchange(input, {});
      return piece.empty() ? State::kMore : State::kPiece;
    case Framing::kChunked:
      break;
  }
  return next_of_chunks(input, piece);
}

BodyFrames::State BodyFrames::cut(std::string_view& input, std::string_view& piece) {
  piece = input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size())));
  input.remove_prefix(piece.size());
  left_ -= piece.size();
  return State::kPiece;
}

BodyFrames::State BodyFrames::next_of_chunks(std::string_view& input, std::string_view& piece) {
  while (!done_ && !input.empty()) {
    if (step_ == Step::kData) {
      const State state = cut(input, piece);
      if (left_ == 0) step_ = Step::kDataCr;
      return state;
    }
    const char c = input.front();
    input.remove_prefix(1);
    if (!take(c)) return State::kBroken;
  }
  return done_ ? State::kDone : State::kMore;
}

bool BodyFrames::take(char c) {
  switch (step_) {
    case Step::kSize:
      return take_size(c);
    case Step::kExtension:
      if (c == '\r') return step_ = Step::kSizeLf, true;
      return is_line_letter(c) && ++more_bytes_ <= kExtensionBytesMax;
    case Step::kSizeLf:
    case Step::kDataLf:
    case Step::kTrailerLf:
      end_line();
      return c == '\n';
    case Step::kDataCr:
      return step_ = Step::kDataLf, c == '\r';
    case Step::kTrailer:
      if (c == '\r') return step_ = Step::kTrailerLf, true;
      line_empty_ = false;
      return is_line_letter(c) && ++more_bytes_ <= kReplyTrailerBytesMax;
    case Step::kData:
      break;
  }
  return false;
}

bool BodyFrames::take_size(char c) {
  if (const int digit = digit_of(c); digit >= 0) {
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return ++digits_ <= kChunkDigitsMax;
  }
  more_bytes_ = 0;
  step_ = c == '\r' ? Step::kSizeLf : Step::kExtension;
  // Some servers pad the size with blanks.
  return digits_ > 0 && (c == '\r' || c == ';' || c == ' ' || c == '\t');
}

void BodyFrames::end_line() {
  if (step_ == Step::kSizeLf) {
    step_ = left_ > 0 ? Step::kData : Step::kTrailer;
    more_bytes_ = 0;
  } else if (step_ == Step::kDataLf) {
    step_ = Step::kSize;
  } else {
    done_ = line_empty_;
    line_empty_ = true;
    step_ = Step::kTrailer;
  }
  digits_ = 0;
}

}  // namespace millrace::net
