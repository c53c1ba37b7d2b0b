#include "ai/engines/host/pictures/image.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <leptonica/allheaders.h>

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

// Reads the first directory of a TIFF file; EXIF data is a TIFF file.
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

// From the last of the bytes FF on that begin the next marker. Viewers skip stray bytes before it.
std::string_view next_marker(std::string_view bytes) {
  const std::string_view from = rest(bytes, bytes.find('\xFF'));
  return rest(from, std::max<std::size_t>(from.find_first_not_of('\xFF'), 1) - 1);
}

// Walks the segments before the picture: marker, then the length of the rest (including the length field).
std::string_view exif_of_jpeg(std::string_view file) {
  std::string_view segment = next_marker(rest(file, 2));
  while (segment.size() > 4 && segment[1] != '\xDA') {
    const std::uint32_t length = number(segment, 2, 2, true);
    if (length < 2) return {};
    const std::string_view body = segment.substr(4, length - 2);
    if (segment[1] == '\xE1' && starts_with(body, kExifStart)) return rest(body, kExifStart.size());
    segment = next_marker(rest(segment, std::size_t{2} + length));
  }
  return {};
}

// Walks chunks: length, name of four letters, content, checksum of four bytes.
std::string_view exif_of_png(std::string_view file) {
  std::string_view chunk = rest(file, kPngStart.size());
  while (chunk.size() > 12) {
    const std::size_t length = number(chunk, 0, 4, true);
    if (chunk.substr(4, 4) == "eXIf") return chunk.substr(8, length);
    chunk = rest(chunk, length + 12);
  }
  return {};
}

// Walks chunks: name, length, content, padded to an even number of bytes.
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

namespace {

constexpr std::size_t kChunkHead = 8;   // a name of four letters, the length of the content
constexpr std::size_t kFrameHead = 16;  // position, size and duration of a frame
constexpr char kHasAlpha = 0x10;

std::size_t length_of(std::string_view chunk) {
  std::size_t length = 0;
  for (std::size_t i = 8; i-- > 4;) length = length << 8 | static_cast<unsigned char>(chunk[i]);
  return length;
}

std::string chunk(std::string_view name, std::string_view body) {
  std::string made(name);
  for (unsigned shift = 0; shift < 32; shift += 8) made.push_back(static_cast<char>(body.size() >> shift));
  made.append(body);
  if (body.size() % 2 != 0) made.push_back('\0');
  return made;
}

// `frame`: its header, followed by the chunks of its picture.
std::string still(std::string_view frame) {
  const std::string_view picture = frame.substr(kFrameHead);
  std::string body("WEBP");
  if (picture.substr(0, 4) == "ALPH") {  // a picture with alpha needs a header that declares it
    std::string head{kHasAlpha, 0, 0, 0};
    head.append(frame.substr(6, 6));  // width and height, in the encoding of the frame header
    body.append(chunk("VP8X", head));
  }
  body.append(picture);
  return chunk("RIFF", body);
}

}  // namespace

std::string first_frame(std::string_view file) {
  if (file.substr(0, 4) != "RIFF" || file.size() < 12 || file.substr(8, 4) != "WEBP") return {};
  std::string_view rest = file.substr(12);
  while (rest.size() > kChunkHead) {
    const std::size_t length = length_of(rest);
    const std::size_t chunk_bytes = rest.size() - kChunkHead;
    if (length > chunk_bytes) return {};
    if (rest.substr(0, 4) == "ANMF") {
      return length > kFrameHead ? still(rest.substr(kChunkHead, length)) : std::string();
    }
    rest.remove_prefix(kChunkHead + std::min(chunk_bytes, length + length % 2));
  }
  return {};
}

namespace {

using base::Code;

constexpr int kDpiMin = 50;
constexpr int kDpiMax = 1200;

const l_uint8* data_of(std::string_view bytes) { return reinterpret_cast<const l_uint8*>(bytes.data()); }

base::Error damaged() {
  return base::error(Code::kDocumentDamaged, "the image is damaged or cut off: it cannot be decoded");
}

// Reduces an animated picture to its first frame.
class Still {
 public:
  explicit Still(std::string_view bytes) : frame_(first_frame(bytes)), bytes_(bytes) {}
  std::string_view bytes() const { return frame_.empty() ? bytes_ : frame_; }

 private:
  std::string frame_;
  std::string_view bytes_;
};

constexpr int kMissingGray = 128;  // what libjpeg puts where data are missing
constexpr double kMissingPart = 0.05;
constexpr int kWarningsMax = 16;  // more come from a damaged or hostile file

// Whether the lower part of the picture is missing.
bool ends_early(Pix* picture) {
  const int across = pixGetWidth(picture), down = pixGetHeight(picture);
  const Picture gray(pixConvertTo8(picture, 0));
  for (int y = down - std::max(1, static_cast<int>(kMissingPart * down)); gray && y < down; ++y) {
    const l_uint32* line = pixGetData(gray.get()) + std::ptrdiff_t{y} * pixGetWpl(gray.get());
    for (int x = 0; x < across; ++x) {
      if (std::abs(static_cast<int>(GET_DATA_BYTE(line, x)) - kMissingGray) > 1) return false;
    }
  }
  return true;
}

// Viewers open files with stray bytes between markers and without an end, of which libjpeg only warns. A file
// that was cut off has no end either: with an end added, libjpeg warns only of that one.
Picture jpeg_picture(std::string_view bytes) {
  constexpr std::string_view kScan("\xFF\xDA", 2), kEnd("\xFF\xD9", 2);
  const std::size_t last_scan = bytes.rfind(kScan);
  std::string ended;
  if (last_scan != std::string_view::npos && bytes.find(kEnd, last_scan) == std::string_view::npos) {
    bytes = ended.append(bytes).append(kEnd);
  }
  l_int32 warnings = 0;
  Picture picture(
      pixReadMemJpeg(data_of(bytes), bytes.size(), 0, 1, &warnings, L_JPEG_CONTINUE_WITH_BAD_DATA));
  const bool is_damaged =
      warnings > (ended.empty() ? kWarningsMax : 0) || (warnings > 0 && picture && ends_early(picture.get()));
  if (is_damaged) picture.reset();
  return picture;
}

// Viewers open PNG files that lack the last chunk. What ends within another chunk stays damaged.
Picture png_picture(std::string_view bytes) {
  constexpr std::string_view kEnd("\0\0\0\0IEND\xAE\x42\x60\x82", 12);
  std::string mended;
  if (bytes.rfind("IEND") == std::string_view::npos) mended = std::string(bytes).append(kEnd);
  if (!mended.empty()) bytes = mended;
  return Picture(pixReadMem(data_of(bytes), bytes.size()));
}

Picture decoded(std::string_view bytes) {
  if (starts_with(bytes, kJpegStart)) return jpeg_picture(bytes);
  if (starts_with(bytes, kPngStart)) return png_picture(bytes);
  const Still still(bytes);
  return Picture(pixReadMem(data_of(still.bytes()), still.bytes().size()));
}

// Rotates and mirrors a picture according to its EXIF `orientation`; empty: memory is short.
Picture as_shown(Picture picture, int orientation) {
  constexpr int kQuarterTurns[] = {0, 0, 2, 2, 1, 1, 3, 3};  // for orientations 1 to 8
  const bool mirrored = orientation == 2 || orientation == 4 || orientation == 5 || orientation == 7;
  if (orientation != 1) picture = turned(picture, kQuarterTurns[orientation - 1]);
  if (picture && mirrored) picture = Picture(pixFlipLR(nullptr, picture.get()));
  return picture;
}

}  // namespace

base::Result<ImageHead> image_head(std::string_view bytes, const EngineLimits& limits) {
  l_int32 format = 0;
  l_int32 bits = 0;
  l_int32 samples = 0;
  l_int32 colour_map = 0;
  ImageHead head;
  const Still still(bytes);
  if (pixReadHeaderMem(data_of(still.bytes()), still.bytes().size(), &format, &head.width, &head.height,
                       &bits, &samples, &colour_map) != 0) {
    return damaged();
  }
  if (head.width <= 0 || head.height <= 0) return damaged();
  if (std::int64_t{head.width} * head.height > limits.image_pixels_max) {
    return base::error(Code::kImageTooLarge, "the image has " + std::to_string(head.width) + " x " +
                                                 std::to_string(head.height) + " pixels; at most " +
                                                 std::to_string(limits.image_pixels_max / 1'000'000) +
                                                 " million are supported: send a smaller one");
  }
  return head;
}

base::Result<Picture> decode_image(std::string_view bytes) {
  Picture picture = decoded(bytes);
  if (!picture) return damaged();
  picture = as_shown(flattened(std::move(picture)), exif_orientation(bytes));
  if (!picture) return base::error(Code::kImageTooLarge, "the image needs more memory than the engine has");
  const l_int32 dpi = pixGetXRes(picture.get());
  if (dpi < kDpiMin || dpi > kDpiMax) pixSetResolution(picture.get(), 72, 72);
  return picture;
}

}  // namespace millrace::engines::host
