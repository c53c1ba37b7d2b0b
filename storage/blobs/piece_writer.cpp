#include "storage/blobs/piece_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "storage/blobs/blob_files.h"

namespace millrace::storage {

bool set_direct(int fd, bool on) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

namespace {

bool is_zero(std::string_view bytes) {
  return bytes.front() == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// The length of the zeros (whole blocks of kHoleBytes), or of the data, with which `bytes` begin.
std::size_t same_at_front(std::string_view bytes, bool zeros) {
  constexpr std::size_t kBlock = PieceWriter::kHoleBytes;
  std::size_t length = 0;
  while (length < bytes.size()) {
    const std::string_view block = bytes.substr(length, kBlock);
    if ((block.size() == kBlock && is_zero(block)) != zeros) break;
    length += block.size();
  }
  return length;
}

}  // namespace

PieceWriter::PieceWriter(int fd, std::int64_t expected_bytes, DiskFloor* floor)
    : fd_(fd),
      preallocates_(expected_bytes > 0),
      floor_(floor),
      direct_(expected_bytes >= kLargeBytes && set_direct(fd, true)) {}

base::Status PieceWriter::append(std::string_view bytes) {
  if (!piece_) piece_ = allocate_direct_buffer(kPieceBytes);
  if (!piece_) throw std::bad_alloc();
  while (!bytes.empty()) {
    const std::size_t taken = std::min(bytes.size(), kPieceBytes - used_);
    std::memcpy(piece_.get() + used_, bytes.data(), taken);
    used_ += taken;
    bytes.remove_prefix(taken);
    if (used_ < kPieceBytes) return {};
    if (auto written = write_out(); !written) return written;
  }
  return {};
}

base::Status PieceWriter::finish() {
  if (!switch_to_cache()) return file_error(errno, "write a blob");
  if (auto written = write_out(); !written) return written;
  if (::ftruncate(fd_, at_) != 0) return file_error(errno, "truncate a blob");  // it may end with a hole
  return {};
}

bool PieceWriter::switch_to_cache() {
  if (direct_ && !set_direct(fd_, false)) return false;
  direct_ = false;
  return true;
}

base::Status PieceWriter::write_out() {
  std::string_view rest(piece_.get(), std::exchange(used_, 0));
  while (!rest.empty()) {
    const std::size_t zeros = same_at_front(rest, true);
    const std::size_t length = zeros > 0 ? zeros : same_at_front(rest, false);
    if (zeros > 0) {
      if (::lseek(fd_, static_cast<off_t>(zeros), SEEK_CUR) < 0) return file_error(errno, "write a blob");
    } else if (auto written = write_data(rest.substr(0, length)); !written) {
      return written;
    }
    at_ += static_cast<std::int64_t>(length);
    rest.remove_prefix(length);
  }
  return {};
}

// Overwriting allocated blocks is cheaper than growing the file.
base::Status PieceWriter::write_data(std::string_view data) {
  const auto length = static_cast<std::int64_t>(data.size());
  if (floor_ != nullptr) {
    if (auto fits = floor_->take(length); !fits) return fits;
  }
  const bool allocated = !preallocates_ || ::fallocate(fd_, 0, at_, length) == 0 || errno == EOPNOTSUPP;
  base::Status written = allocated ? write_all(data) : file_error(errno, "reserve space for a blob");
  if (floor_ != nullptr) floor_->give_back(length);
  return written;
}

// A file system that accepts the flag but no direct writes fails at the first write. After a partial write,
// the rest is no longer aligned.
base::Status PieceWriter::write_all(std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t wrote = ::write(fd_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    const bool refused = wrote < 0 && !(errno == EINVAL && direct_);
    if (refused) return file_error(errno, "write a blob");
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(wrote, 0)));
    if (!rest.empty() && !switch_to_cache()) return file_error(errno, "write a blob");
  }
  return {};
}

}  // namespace millrace::storage
