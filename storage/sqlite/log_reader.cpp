#include "storage/sqlite/log_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
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

// Where an intact frame begins, which page it has, and the pages of the database after it if it ends a
// commit.
struct LogFrame {
  std::uint64_t at;
  std::uint32_t number, page, pages_after;
};

// Calls `take` for each intact frame behind the header.
template <class Take>
base::Status read_frames(int file, LogHeader header, const std::string& path, const Take& take) {
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
    take(LogFrame{at, number, log_number(bytes, 0), log_number(bytes, 4)});
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
  const auto take = [&](const LogFrame& frame) {
    if (frame.pages_after != 0) content.commits.push_back(frame.number);
  };
  if (auto read = read_frames(file.get(), *header, path, take); !read) return read.error();
  return content;
}

namespace {

// The frames of one page that the database may have, ascending: the last one that was copied for sure, and
// all later ones.
using FramesOfPage = std::map<std::uint32_t, std::vector<std::uint64_t>>;

struct CopiedPages {
  FramesOfPage frames;
  // The smallest database since: pages behind its end were perhaps never copied.
  std::uint32_t pages_min = std::numeric_limits<std::uint32_t>::max();

  void add(const LogFrame& frame, std::uint32_t copied) {
    if (frame.number >= copied && frame.pages_after != 0) pages_min = std::min(pages_min, frame.pages_after);
    if (frame.number <= copied) {
      frames[frame.page] = {frame.at};
    } else if (const auto found = frames.find(frame.page); found != frames.end()) {
      found->second.push_back(frame.at);
    }
  }
};

// A checkpoint that ended early, by a kill or a power cut, may leave a part of a page.
constexpr std::size_t kSectorBytes = 512;

// Two files that are read page by page.
struct LogAndDatabase {
  int log, database;
  const std::string &log_path, &database_path;
  std::vector<char> page, copy;
  std::vector<bool> found;  // by sector of `page`

  // True if each sector of the page is that of one of the frames.
  base::Result<bool> has_one_of(std::uint32_t number, const std::vector<std::uint64_t>& frames) {
    const auto is_there = read_whole(database, page, std::uint64_t{number - 1} * page.size(), database_path);
    if (!is_there) return is_there.error();
    if (!*is_there) return false;
    found.assign(page.size() / kSectorBytes, false);
    for (const std::uint64_t frame : frames) {
      const auto read = read_whole(log, copy, frame + kFrameHeaderBytes, log_path);
      if (!read) return read.error();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t at = i * kSectorBytes;
        found[i] = found[i] || std::memcmp(page.data() + at, copy.data() + at, kSectorBytes) == 0;
      }
      if (std::ranges::find(found, false) == found.end()) return true;
    }
    return false;
  }
};

}  // namespace

base::Result<std::optional<std::uint32_t>> page_of_other_database(const std::string& log,
                                                                  const std::string& database,
                                                                  std::uint32_t copied) {
  const base::Fd log_file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
  if (!log_file) return log_unreadable(log, errno);
  std::array<char, kLogHeaderBytes> first{};
  const auto is_long = read_whole(log_file.get(), first, 0, log);
  if (!is_long) return is_long.error();
  const auto header = *is_long ? parse_log_header(first) : std::nullopt;
  if (!header) return std::optional<std::uint32_t>();
  CopiedPages pages;
  const auto take = [&](const LogFrame& frame) { pages.add(frame, copied); };
  if (auto read = read_frames(log_file.get(), *header, log, take); !read) return read.error();
  const base::Fd file(::open(database.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return log_unreadable(database, errno);
  const std::vector<char> empty(header->page_bytes);
  LogAndDatabase both{log_file.get(), file.get(), log, database, empty, empty, {}};
  for (const auto& [page, frames] : pages.frames) {
    if (page > pages.pages_min) break;
    const auto is_same = both.has_one_of(page, frames);
    if (!is_same) return is_same.error();
    if (!*is_same) return std::optional(page);
  }
  return std::optional<std::uint32_t>();
}

bool is_later_generation(std::uint64_t newer, std::uint64_t older) {
  const auto restarts = static_cast<std::uint32_t>((newer >> 32) - (older >> 32));
  return restarts > 0 && restarts < kRestartsMax;
}

}  // namespace millrace::storage
