#include "ai/engines/host/told_size.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace millrace::engines::host {
namespace {

constexpr std::size_t kRiffHead = 8;              // "RIFF" and what follows it in bytes
constexpr std::uint32_t kSizeUnknown = 1u << 30;  // streams write such a size, or none; nobody sends so much
constexpr std::size_t kId3Head = 10;
constexpr std::size_t kFirstFrame = 256;  // where the Xing head lies, from the first frame on
constexpr std::int64_t kSlackBytes = 512;
constexpr std::size_t kBoxHead = 16;  // size, name, and the size once more where it is long
constexpr int kBoxesMax = 10'000;
constexpr std::size_t kElementHead = 12;  // name and size
constexpr std::size_t kElementName = 4;

std::string bytes_at(int fd, std::int64_t at, std::size_t count) {
  std::string bytes(count, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), count, at);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

std::uint32_t octet(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

std::uint32_t little(std::string_view b) {
  return octet(b, 0) | octet(b, 1) << 8 | octet(b, 2) << 16 | octet(b, 3) << 24;
}
std::uint32_t big(std::string_view b) {
  return octet(b, 0) << 24 | octet(b, 1) << 16 | octet(b, 2) << 8 | octet(b, 3);
}

// Where the file should end; 0: it does not say.
std::int64_t end_of_riff(int fd) {
  const std::string head = bytes_at(fd, 0, kRiffHead);
  if (head.size() < kRiffHead || !head.starts_with("RIFF")) return 0;
  const std::uint32_t size = little(std::string_view(head).substr(4));
  return size >= kSizeUnknown ? 0 : static_cast<std::int64_t>(size) + static_cast<std::int64_t>(kRiffHead);
}

// The length of the tag before the first frame: four times seven bits.
std::int64_t id3_bytes(int fd) {
  const std::string head = bytes_at(fd, 0, kId3Head);
  if (head.size() < kId3Head || !head.starts_with("ID3")) return 0;
  std::int64_t size = 0;
  for (std::size_t at = 6; at < kId3Head; ++at) size = size << 7 | (octet(head, at) & 0x7F);
  return size + static_cast<std::int64_t>(kId3Head);
}

// Name, flags (1: frames, 2: bytes), then what the flags name, four bytes each.
std::int64_t end_of_mp3(int fd) {
  const std::int64_t first = id3_bytes(fd);
  const std::string frame = bytes_at(fd, first, kFirstFrame);
  const std::size_t at = std::min(frame.find("Xing"), frame.find("Info"));
  if (at == std::string::npos || at + 16 > frame.size()) return 0;
  const std::string_view head = std::string_view(frame).substr(at);
  const std::uint32_t flags = big(head.substr(4));
  if ((flags & 2) == 0) return 0;
  return first + big(head.substr((flags & 1) != 0 ? 12 : 8));
}

bool is_box_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

// Boxes at the top level, one after the other.
std::int64_t end_of_mp4(int fd, std::int64_t file_bytes) {
  std::int64_t at = 0;
  for (int box = 0; at < file_bytes && box < kBoxesMax; ++box) {
    const std::string head = bytes_at(fd, at, kBoxHead);
    if (head.size() < kBoxHead / 2 || !is_box_name(std::string_view(head).substr(4, 4))) return 0;
    std::uint64_t size = big(head);
    if (size == 0) return 0;  // to the end
    if (size == 1 && head.size() < kBoxHead) return 0;
    if (size == 1)
      size =
          std::uint64_t{big(std::string_view(head).substr(8))} << 32 | big(std::string_view(head).substr(12));
    if (size < kBoxHead / 2 || size >= kSizeUnknown) return 0;
    at += static_cast<std::int64_t>(size);
  }
  return at;
}

// Where the content of the element at `at` ends; 0: it does not say.
std::int64_t end_of_element(int fd, std::int64_t at, std::string_view name) {
  const std::string head = bytes_at(fd, at, kElementHead);
  if (head.size() < kElementHead || !head.starts_with(name)) return 0;
  const std::uint32_t first = octet(head, kElementName);
  if (first == 0) return 0;
  const int more = std::countl_zero(static_cast<std::uint8_t>(first));  // bytes of the size after its first
  std::uint64_t size = first & (0x7Fu >> more);
  for (int i = 1; i <= more; ++i) size = size << 8 | octet(head, kElementName + static_cast<std::size_t>(i));
  if (size >= kSizeUnknown) return 0;
  return at + static_cast<std::int64_t>(kElementName) + 1 + more + static_cast<std::int64_t>(size);
}

std::int64_t end_of_webm(int fd) {
  const std::int64_t segment = end_of_element(fd, 0, "\x1A\x45\xDF\xA3");
  return segment == 0 ? 0 : end_of_element(fd, segment, "\x18\x53\x80\x67");
}

std::int64_t told_end(int fd, schemas::AudioFormat format, std::int64_t file_bytes) {
  switch (format) {
    case schemas::AudioFormat::kWav:
      return end_of_riff(fd);
    case schemas::AudioFormat::kMp3:
      return end_of_mp3(fd);
    case schemas::AudioFormat::kMp4:
      return end_of_mp4(fd, file_bytes);
    case schemas::AudioFormat::kWebm:
      return end_of_webm(fd);
    default:
      return 0;
  }
}

}  // namespace

bool tells_of_more_bytes(int fd, schemas::AudioFormat format) {
  struct ::stat file {};
  if (::fstat(fd, &file) != 0) return false;
  return told_end(fd, format, file.st_size) > file.st_size + kSlackBytes + file.st_size / 100;
}

}  // namespace millrace::engines::host
