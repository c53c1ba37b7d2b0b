#include "ai/engines/host/exif.h"

#include <cstddef>
#include <cstdint>

namespace millrace::engines::host {
namespace {

constexpr std::uint32_t kOrientationTag = 0x112;
constexpr std::uint32_t kShort = 3;  // TIFF's type of two bytes
constexpr std::string_view kJpegStart = "\xFF\xD8";
constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kExifStart("Exif\0\0", 6);

std::string_view rest(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? bytes.substr(at) : std::string_view();
}

bool starts_with(std::string_view bytes, std::string_view start) {
  return bytes.substr(0, start.size()) == start;
}

// Bytes past the end count as 0.
std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t length, bool big) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t place = at + (big ? i : length - 1 - i);
    const std::uint32_t byte = place < bytes.size() ? static_cast<unsigned char>(bytes[place]) : 0U;
    value = value << 8 | byte;
  }
  return value;
}

// The first directory of a TIFF file, which is what EXIF is.
int orientation_in(std::string_view tiff) {
  const bool big = starts_with(tiff, "MM");
  if (!big && !starts_with(tiff, "II")) return 1;
  const std::string_view directory = rest(tiff, number(tiff, 4, 4, big));
  const std::uint32_t entries = number(directory, 0, 2, big);
  std::string_view entry = rest(directory, 2);
  for (std::uint32_t i = 0; i < entries && entry.size() >= 12; ++i, entry.remove_prefix(12)) {
    if (number(entry, 0, 2, big) != kOrientationTag || number(entry, 2, 2, big) != kShort) continue;
    const std::uint32_t value = number(entry, 8, 2, big);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// The segments before the picture: marker, length of what follows (itself counted).
std::string_view exif_of_jpeg(std::string_view file) {
  std::string_view segment = rest(file, 2);
  while (segment.size() > 4 && segment[0] == '\xFF' && segment[1] != '\xDA') {
    const std::uint32_t length = number(segment, 2, 2, true);
    if (length < 2) return {};
    const std::string_view body = segment.substr(4, length - 2);
    if (segment[1] == '\xE1' && starts_with(body, kExifStart)) return rest(body, kExifStart.size());
    segment = rest(segment, std::size_t{2} + length);
  }
  return {};
}

// Chunks of a length, a name of four letters, what they hold, and a sum of four bytes.
std::string_view exif_of_png(std::string_view file) {
  std::string_view chunk = rest(file, kPngStart.size());
  while (chunk.size() > 12) {
    const std::size_t length = number(chunk, 0, 4, true);
    if (chunk.substr(4, 4) == "eXIf") return chunk.substr(8, length);
    chunk = rest(chunk, length + 12);
  }
  return {};
}

// Chunks of a name, a length, and what they hold, filled up to an even number of bytes.
std::string_view exif_of_webp(std::string_view file) {
  std::string_view chunk = rest(file, 12);
  while (chunk.size() > 8) {
    const std::size_t length = number(chunk, 4, 4, false);
    if (chunk.substr(0, 4) == "EXIF") {
      const std::string_view body = chunk.substr(8, length);
      return starts_with(body, kExifStart) ? rest(body, kExifStart.size()) : body;
    }
    chunk = rest(chunk, 8 + length + length % 2);
  }
  return {};
}

}  // namespace

int exif_orientation(std::string_view file) {
  if (starts_with(file, kJpegStart)) return orientation_in(exif_of_jpeg(file));
  if (starts_with(file, kPngStart)) return orientation_in(exif_of_png(file));
  if (starts_with(file, "RIFF") && rest(file, 8).substr(0, 4) == "WEBP") {
    return orientation_in(exif_of_webp(file));
  }
  return 1;
}

}  // namespace millrace::engines::host
