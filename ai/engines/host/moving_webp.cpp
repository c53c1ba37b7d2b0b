#include "ai/engines/host/moving_webp.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace::engines::host {
namespace {

constexpr std::size_t kChunkHead = 8;   // a name of four letters, the length of what follows
constexpr std::size_t kFrameHead = 16;  // place, size and time of a frame
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

// `frame`: its head and the chunks that are its picture.
std::string still(std::string_view frame) {
  const std::string_view picture = frame.substr(kFrameHead);
  std::string body("WEBP");
  if (picture.substr(0, 4) == "ALPH") {  // such a picture needs a head that says so
    std::string head{kHasAlpha, 0, 0, 0};
    head.append(frame.substr(6, 6));  // width and height, as the frame has them
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
    const std::size_t room = rest.size() - kChunkHead;
    if (length > room) return {};
    if (rest.substr(0, 4) == "ANMF") {
      return length > kFrameHead ? still(rest.substr(kChunkHead, length)) : std::string();
    }
    rest.remove_prefix(kChunkHead + std::min(room, length + length % 2));
  }
  return {};
}

}  // namespace millrace::engines::host
