#include "storage/sqlite/log_reader.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "storage/sqlite/errors.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kLogHeaderBytes = 32, kFrameHeaderBytes = 24;
constexpr std::uint32_t kLogMagic =
    0x377f0682;  // the lowest bit is set if the checksums use big-endian words
constexpr std::uint32_t kLogVersion = 3'007'000;
constexpr std::uint32_t kLogPageMin = 512, kLogPageMax = 65'536;
constexpr std::uint32_t kRestartsMax = 1u << 20;

std::uint32_t log_number(std::span<const char> bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

std::uint64_t log_pair(std::span<const char> bytes, std::size_t at) {
  return std::uint64_t{log_number(bytes, at)} << 32 | log_number(bytes, at + 4);
}

class LogChecksum {
 public:
  explicit LogChecksum(bool is_big_endian)
      : swaps_(is_big_endian != (std::endian::native == std::endian::big)) {}

  void add(std::span<const char> bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += word(bytes.data() + at) + second_;
      second_ += word(bytes.data() + at + 4) + first_;
    }
  }
  std::uint64_t value() const { return std::uint64_t{first_} << 32 | second_; }

 private:
  std::uint32_t word(const char* bytes) const {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return swaps_ ? __builtin_bswap32(word) : word;
  }

  const bool swaps_;
  std::uint32_t first_ = 0, second_ = 0;
};

struct LogHeader {
  std::size_t page_bytes;
  std::uint64_t generation;
  LogChecksum sum;
};

std::optional<LogHeader> parse_log_header(std::span<const char, kLogHeaderBytes> bytes) {
  const std::uint32_t magic = log_number(bytes, 0), page = log_number(bytes, 8);
  if ((magic & ~1u) != kLogMagic || log_number(bytes, 4) != kLogVersion) return {};
  if (page < kLogPageMin || page > kLogPageMax || !std::has_single_bit(page)) return {};
  LogHeader header{page, log_pair(bytes, 16), LogChecksum((magic & 1) != 0)};
  header.sum.add(bytes.first(24));
  if (header.sum.value() != log_pair(bytes, 24)) return {};
  return header;
}

base::Error log_unreadable(const std::string& path, int error) {
  return base::error(base::Code::kInternal, path + ": cannot be read: " + system_failure(error));
}

// False: the file ends before.
base::Result<bool> read_whole(int file, std::span<char> bytes, std::uint64_t at, const std::string& path) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t read =
        ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return log_unreadable(path, errno);
    if (read == 0) return false;
    done += static_cast<std::size_t>(read);
  }
  return true;
}

// Adds the commits behind the header.
base::Status read_frames(int file, LogHeader header, const std::string& path, LogContent& content) {
  std::vector<char> frame(kFrameHeaderBytes + header.page_bytes);
  const std::span<const char> bytes(frame);
  std::uint64_t at = kLogHeaderBytes;
  for (std::uint32_t number = 1;; ++number, at += frame.size()) {
    const auto is_read = read_whole(file, frame, at, path);
    if (!is_read) return is_read.error();
    if (!*is_read) return {};
    header.sum.add(bytes.first(8));
    header.sum.add(bytes.subspan(kFrameHeaderBytes));
    const bool matches = log_pair(bytes, 8) == header.generation && log_pair(bytes, 16) == header.sum.value();
    if (!matches || log_number(bytes, 0) == 0) return {};
    if (log_number(bytes, 4) != 0) content.commits.push_back(number);
  }
}

}  // namespace

base::Result<LogContent> read_log(const std::string& path) {
  LogContent content;
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return content;
  if (!file) return log_unreadable(path, errno);
  std::array<char, 1> any{};
  const auto has_bytes = read_whole(file.get(), any, 0, path);
  if (!has_bytes) return has_bytes.error();
  if (!*has_bytes) return content;
  content.is_empty = false;
  std::array<char, kLogHeaderBytes> first{};
  const auto is_long = read_whole(file.get(), first, 0, path);
  if (!is_long) return is_long.error();
  if (!*is_long) return content;
  const auto header = parse_log_header(first);
  if (!header) return content;
  content.has_header = true;
  content.generation = header->generation;
  if (auto read = read_frames(file.get(), *header, path, content); !read) return read.error();
  return content;
}

bool is_later_generation(std::uint64_t newer, std::uint64_t older) {
  const auto restarts = static_cast<std::uint32_t>((newer >> 32) - (older >> 32));
  return restarts > 0 && restarts < kRestartsMax;
}

}  // namespace millrace::storage
