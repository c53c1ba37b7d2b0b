#include "ai/providers/mock_png.h"

#include <algorithm>
#include <string_view>

namespace millrace::providers {
namespace {

constexpr int kBlocks = 8;              // in each direction
constexpr std::size_t kStored = 65535;  // bytes of one stored block of deflate

void append_big(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift & 0xFFU));
}
void append_little16(std::string& out, std::size_t value) {
  out.push_back(static_cast<char>(value & 0xFFU));
  out.push_back(static_cast<char>(value >> 8U & 0xFFU));
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  constexpr std::uint32_t kPrime = 65521;
  std::uint32_t low = 1, high = 0;
  for (const char byte : bytes) {
    low = (low + static_cast<unsigned char>(byte)) % kPrime;
    high = (high + low) % kPrime;
  }
  return high << 16U | low;
}

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_big(out, static_cast<std::uint32_t>(data.size()));
  std::string body(type);
  body.append(data);
  out.append(body);
  append_big(out, crc32(body));
}

// zlib's form without compression.
std::string stored(std::string_view bytes) {
  std::string out("\x78\x01", 2);
  for (std::size_t at = 0; at < bytes.size(); at += kStored) {
    const std::string_view piece = bytes.substr(at, kStored);
    out.push_back(at + piece.size() == bytes.size() ? '\1' : '\0');
    append_little16(out, piece.size());
    append_little16(out, ~piece.size());
    out.append(piece);
  }
  append_big(out, adler32(bytes));
  return out;
}

// One bit for each pixel; the pattern is the same from left and from right.
std::string pixels(int width, int height, std::uint64_t seed) {
  std::string out;
  for (int y = 0; y < height; ++y) {
    std::string row(static_cast<std::size_t>((width + 7) / 8) + 1, '\0');  // begins with the filter's number
    for (int x = 0; x < width; ++x) {
      const int column = x * kBlocks / width, line = y * kBlocks / height;
      const int place = line * kBlocks / 2 + std::min(column, kBlocks - 1 - column);
      if ((seed >> static_cast<unsigned>(place) & 1U) == 0) continue;
      char& byte = row[static_cast<std::size_t>(x / 8) + 1];
      byte = static_cast<char>(static_cast<unsigned char>(byte) | 0x80U >> static_cast<unsigned>(x % 8));
    }
    out += row;
  }
  return out;
}

std::string palette(std::uint64_t seed) {
  std::string out(3, '\xF4');
  for (unsigned shift = 8; shift < 32; shift += 8) out.push_back(static_cast<char>(seed >> shift & 0xBFU));
  return out;
}

}  // namespace

std::string mock_png(int width, int height, std::uint64_t seed) {
  std::string head;
  append_big(head, static_cast<std::uint32_t>(width));
  append_big(head, static_cast<std::uint32_t>(height));
  head.append("\x01\x03\x00\x00\x00", 5);  // one bit, a palette, no interlacing
  std::string out("\x89PNG\r\n\x1a\n");
  append_chunk(out, "IHDR", head);
  append_chunk(out, "PLTE", palette(seed));
  append_chunk(out, "IDAT", stored(pixels(width, height, seed)));
  append_chunk(out, "IEND", "");
  return out;
}

}  // namespace millrace::providers
