#include "platform/base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

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

#ifdef __x86_64__
// Decodes 32 characters at a time, after Muła and Lemire, "Faster Base64 Encoding and Decoding using AVX2
// Instructions" (2018). The high and low nibble of each character each select a set of classes. A character
// is valid if the two sets are disjoint. The high nibble then selects the offset that turns the character
// into its six bits.
__attribute__((target("avx2"))) std::size_t decode_wide(const unsigned char* in, std::size_t size,
                                                        char* out) {
  constexpr std::size_t kChars = 32, kBytes = 24;
  // characters after a block; their output space absorbs the excess bytes that it writes
  constexpr std::size_t kSlack = 16;
  const __m256i low_classes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
      0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A));
  const __m256i high_classes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
      0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10));
  const __m256i shifts =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
  const __m256i byte_order =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
  const __m256i word_order = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
  const __m256i slash = _mm256_set1_epi8('/');
  std::size_t at = 0;
  for (; at + kChars + kSlack <= size; at += kChars, out += kBytes) {
    const __m256i chars = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + at));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi32(chars, 4), slash);
    const __m256i low = _mm256_and_si256(chars, slash);
    const __m256i common =
        _mm256_and_si256(_mm256_shuffle_epi8(low_classes, low), _mm256_shuffle_epi8(high_classes, high));
    if (_mm256_testz_si256(common, common) == 0) break;
    const __m256i shift = _mm256_shuffle_epi8(shifts, _mm256_add_epi8(_mm256_cmpeq_epi8(chars, slash), high));
    const __m256i bits = _mm256_add_epi8(chars, shift);
    const __m256i pairs = _mm256_maddubs_epi16(bits, _mm256_set1_epi32(0x01400140));
    const __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(groups, byte_order), word_order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
  }
  return at;
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

// Decodes complete valid blocks from the front if this processor supports it. Returns the number of
// characters consumed.
std::size_t decode_blocks(const unsigned char* in, std::size_t size, char* out) {
  return has_avx2() ? decode_wide(in, size, out) : 0;
}
#else
std::size_t decode_blocks(const unsigned char*, std::size_t, char*) { return 0; }
#endif

constexpr std::size_t kBlock = 32;  // characters per error check

// Decodes complete valid groups from the front. Returns the number of characters consumed.
std::size_t decode_groups(const unsigned char* in, std::size_t size, char* out) {
  std::size_t at = decode_blocks(in, size, out);
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
