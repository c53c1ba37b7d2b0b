#include "platform/net/http/unpacker.h"

#include <array>
#include <new>

#define ZLIB_CONST
#include <zlib.h>

#include "platform/net/http/http_text.h"

namespace millrace::net {
namespace {

constexpr std::size_t kPieceBytes = 16u << 10;
constexpr int kGzipOrZlib = 32;  // detect the format from the first bytes

}  // namespace

struct Unpacker::Stream : z_stream {};

Unpacker::Unpacker() : stream_(std::make_unique<Stream>()) {
  if (inflateInit2(stream_.get(), MAX_WBITS + kGzipOrZlib) != Z_OK) throw std::bad_alloc();
}

Unpacker::~Unpacker() { inflateEnd(stream_.get()); }

std::unique_ptr<Unpacker> Unpacker::of(std::string_view coding) {
  for (const std::string_view known : {"gzip", "x-gzip", "deflate"}) {
    if (is_same_word(coding, known)) return std::unique_ptr<Unpacker>(new Unpacker());
  }
  return nullptr;
}

Unpacker::State Unpacker::feed(std::string_view packed, const std::function<bool(std::string_view)>& sink) {
  std::array<char, kPieceBytes> piece;
  begun_ = begun_ || !packed.empty();
  stream_->next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream_->avail_in = static_cast<uInt>(packed.size());
  do {
    if (whole_) return stream_->avail_in == 0 ? State::kMore : State::kBroken;
    stream_->next_out = reinterpret_cast<Bytef*>(piece.data());
    stream_->avail_out = static_cast<uInt>(piece.size());
    const int result = inflate(stream_.get(), Z_NO_FLUSH);
    whole_ = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_BUF_ERROR && !whole_) return State::kBroken;
    const std::size_t bytes = piece.size() - stream_->avail_out;
    if (bytes > 0 && !sink({piece.data(), bytes})) return State::kStopped;
  } while (stream_->avail_out == 0 || stream_->avail_in > 0);
  return State::kMore;
}

}  // namespace millrace::net
