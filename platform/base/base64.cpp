#include "platform/base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace millrace::base {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t kInvalid = 0x0100'0000;

// kPlace[i][c]: the six bits of character c at position i of its group. The three bytes of the group are in
// memory order in the low 24 bits of a little-endian word. kInvalid: c is not in the alphabet.
using Table = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr std::uint32_t memory_order(std::uint32_t bits) {
  return (bits >> 16 & 0xFF) | (bits & 0xFF00) | (bits & 0xFF) << 16;
}

constexpr Table make_table() {
  Table table{};
  for (std::size_t place = 0; place < 4; ++place) {
    table[place].fill(kInvalid);
    for (std::size_t value = 0; value < kAlphabet.size(); ++value) {
      table[place][static_cast<unsigned char>(kAlphabet[value])] =
          memory_order(static_cast<std::uint32_t>(value) << (18 - 6 * place));
    }
  }
  return table;
}
constexpr Table kPlace = make_table();

inline std::uint32_t group(const unsigned char* in) {
  return kPlace[0][in[0]] | kPlace[1][in[1]] | kPlace[2][in[2]] | kPlace[3][in[3]];
}

// Writes four bytes of which only three are valid. The next group, or free space of the caller, takes the
// fourth.
inline void put(char* out, std::uint32_t word) { std::memcpy(out, &word, sizeof word); }

constexpr std::size_t kBlock = 32;  // characters per error check

// Decodes complete valid groups from the front. Returns the number of characters consumed.
std::size_t decode_groups(const unsigned char* in, std::size_t size, char* out) {
  std::size_t at = 0;
  for (; at + kBlock <= size; at += kBlock) {
    std::uint32_t seen = 0;
    char* block = out + at / 4 * 3;
    for (std::size_t i = 0; i < kBlock; i += 4) {
      const std::uint32_t word = group(in + at + i);
      seen |= word;
      put(block + i / 4 * 3, word);
    }
    if ((seen & kInvalid) != 0) break;
  }
  for (; at + 4 <= size; at += 4) {
    const std::uint32_t word = group(in + at);
    if ((word & kInvalid) != 0) break;
    put(out + at / 4 * 3, word);
  }
  return at;
}

// Decodes one group of 2 to 4 characters without padding. Returns the bytes written (count - 1), or nullopt.
std::optional<std::size_t> decode_tail(const unsigned char* in, std::size_t count, char* out) {
  unsigned char full[4] = {'A', 'A', 'A', 'A'};
  std::memcpy(full, in, count);
  const std::uint32_t word = group(full);
  if ((word & kInvalid) != 0) return std::nullopt;
  std::memcpy(out, &word, count - 1);
  return count - 1;
}

// Decodes a full group of four characters that may end in padding.
std::optional<std::size_t> decode_group(const unsigned char* in, bool& padded, char* out) {
  std::size_t count = 4;
  while (count > 2 && in[count - 1] == '=') --count;
  padded = count < 4;
  return decode_tail(in, count, out);
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  const auto* in = reinterpret_cast<const unsigned char*>(bytes.data());
  char* to = out.data();
  std::size_t left = bytes.size();
  for (; left >= 3; left -= 3, in += 3, to += 4) {
    to[0] = kAlphabet[in[0] >> 2];
    to[1] = kAlphabet[(in[0] & 3U) << 4 | in[1] >> 4];
    to[2] = kAlphabet[(in[1] & 15U) << 2 | in[2] >> 6];
    to[3] = kAlphabet[in[2] & 63U];
  }
  if (left > 0) {
    const unsigned second = left > 1 ? in[1] : 0U;
    to[0] = kAlphabet[in[0] >> 2];
    to[1] = kAlphabet[(in[0] & 3U) << 4 | second >> 4];
    if (left > 1) to[2] = kAlphabet[(second & 15U) << 2];
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out(Base64Decoder::capacity(text.size()), '\0');
  Base64Decoder decoder;
  const auto body = decoder.decode(text, out.data());
  if (!body) return std::nullopt;
  const auto tail = decoder.finish(out.data() + *body);
  if (!tail) return std::nullopt;
  out.resize(*body + *tail);
  return out;
}

std::optional<std::size_t> Base64Decoder::decode(std::string_view in, char* out) {
  const auto* at = reinterpret_cast<const unsigned char*>(in.data());
  std::size_t left = in.size();
  std::size_t written = 0;
  while (left > 0) {
    if (padded_) return std::nullopt;
    if (pending_count_ == 0) {
      const std::size_t taken = decode_groups(at, left, out + written);
      written += taken / 4 * 3;
      at += taken;
      left -= taken;
    }
    for (; left > 0 && pending_count_ < 4; --left) pending_[pending_count_++] = *at++;
    if (pending_count_ < 4) break;
    const auto last = decode_group(pending_, padded_, out + written);
    if (!last) return std::nullopt;
    written += *last;
    pending_count_ = 0;
  }
  return written;
}

std::optional<std::size_t> Base64Decoder::finish(char* out) {
  if (pending_count_ == 0) return 0;
  if (pending_count_ == 1) return std::nullopt;
  return decode_tail(pending_, pending_count_, out);
}

bool is_base64(std::string_view text) {
  constexpr std::size_t kPiece = 4096;
  std::array<char, Base64Decoder::capacity(kPiece)> decoded;
  Base64Decoder decoder;
  while (!text.empty()) {
    if (!decoder.decode(text.substr(0, kPiece), decoded.data())) return false;
    text.remove_prefix(std::min(kPiece, text.size()));
  }
  return decoder.finish(decoded.data()).has_value();
}

}  // namespace millrace::base
