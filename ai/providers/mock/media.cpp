#include "ai/providers/mock/media.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::providers {
namespace {

constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325U, kFnvPrime = 0x100000001b3U;

std::uint64_t seed_of(std::string_view bytes) {
  std::uint64_t hash = kFnvStart;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * kFnvPrime;
  return hash;
}

std::uint64_t seed_of(const std::vector<std::int32_t>& tokens) {
  std::uint64_t hash = kFnvStart;
  for (const std::int32_t token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * kFnvPrime;
  return hash;
}

// splitmix64: advances `state` and returns the next number.
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t mixed = state += 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 30U) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ mixed >> 27U) * 0x94d049bb133111ebU;
  return mixed ^ mixed >> 31U;
}

schemas::Vector unit_vector(std::uint64_t seed, int dimensions) {
  constexpr double kHalf = 9007199254740992.0 / 2;  // half of the range of 53-bit integers
  std::vector<double> wide(static_cast<std::size_t>(dimensions));
  double squares = 0;
  for (double& each : wide) {
    each = (static_cast<double>(next(seed) >> 11U) - kHalf) / kHalf;
    squares += each * each;
  }
  const double length = std::max(std::sqrt(squares), 1e-9);
  schemas::Vector out;
  out.reserve(wide.size());
  for (const double each : wide) out.push_back(static_cast<float>(each / length));
  return out;
}

}  // namespace

schemas::EmbeddingReply mock_embedding(const Target& target, const EmbeddingPart& part) {
  const schemas::EmbeddingRequest& request = part.request;
  const int dimensions = std::min(request.dimensions.value_or(kMockDimensions), kMockDimensionsMax);
  schemas::EmbeddingReply reply;
  reply.model = target.name;
  for (std::size_t i = part.first; i < part.first + part.count; ++i) {
    const bool text = !request.texts.empty();
    reply.vectors.push_back(
        unit_vector(text ? seed_of(request.texts[i]) : seed_of(request.tokens[i]), dimensions));
    reply.prompt_tokens += text ? schemas::estimated_tokens(request.texts[i])
                                : static_cast<std::int64_t>(request.tokens[i].size());
  }
  reply.total_tokens = reply.prompt_tokens;
  return reply;
}

namespace {

constexpr int kSideDefault = 256, kSideMin = 1, kSideMax = 2048;

struct Size {
  int width = kSideDefault, height = kSideDefault;
};

// Parses "512x256". Returns the default for "auto", for an invalid size, and for one that is too large.
Size size_of(const std::string& text) {
  Size size;
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  if (width.ec != std::errc{} || width.ptr == end || *width.ptr != 'x') return {};
  const auto height = std::from_chars(width.ptr + 1, end, size.height);
  const auto good = [](int side) { return side >= kSideMin && side <= kSideMax; };
  if (height.ec != std::errc{} || height.ptr != end || !good(size.width) || !good(size.height)) return {};
  return size;
}

std::uint64_t seed_of(const std::string& prompt, int number) {
  const base::Sha256Digest digest = base::sha256(prompt + "\n" + std::to_string(number));
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < sizeof seed; ++i) seed = seed << 8U | digest[i];
  return seed;
}

std::string drawn(const schemas::ImageRequest& request, int number) {
  const Size size = size_of(request.word("size"));
  return base::base64_encode(mock_png(size.width, size.height, seed_of(request.prompt, number)));
}

schemas::ImageUsage usage_of(const schemas::ImageRequest& request, int images) {
  schemas::ImageUsage usage;
  usage.input = schemas::estimated_tokens(request.prompt);
  usage.output = images;
  usage.total = usage.input + usage.output;
  return usage;
}

}  // namespace

schemas::ImageReply mock_images(const schemas::ImageRequest& request) {
  schemas::ImageReply reply;
  for (int i = 0; i < request.n; ++i) {
    schemas::Image image;
    image.b64_json = drawn(request, i);
    reply.images.push_back(std::move(image));
  }
  reply.usage = usage_of(request, request.n);
  return reply;
}

std::vector<schemas::ImageEvent> mock_image_events(const schemas::ImageRequest& request) {
  std::vector<schemas::ImageEvent> events;
  for (int i = 0; i < request.partial_images; ++i) {
    schemas::ImageEvent& partial = events.emplace_back();
    partial.b64_json = drawn(request, -1 - i);
    partial.partial_index = i;
  }
  for (int i = 0; i < request.n; ++i) {
    schemas::ImageEvent& whole = events.emplace_back();
    whole.completed = true;
    whole.b64_json = drawn(request, i);
    if (i + 1 == request.n) whole.usage = usage_of(request, request.n);
  }
  return events;
}

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

// zlib format without compression.
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

// One bit per pixel; the pattern is mirrored left and right.
std::string pixels(int width, int height, std::uint64_t seed) {
  std::string out;
  for (int y = 0; y < height; ++y) {
    std::string row(static_cast<std::size_t>((width + 7) / 8) + 1, '\0');  // first byte: the filter type
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
