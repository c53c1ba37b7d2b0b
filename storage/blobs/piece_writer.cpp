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

PieceWriter::PieceWriter(int fd, std::int64_t expected_bytes)
    : fd_(fd), direct_(expected_bytes >= kLargeBytes && set_direct(fd, true)) {}

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
  return write_out();
}

bool PieceWriter::switch_to_cache() {
  if (direct_ && !set_direct(fd_, false)) return false;
  direct_ = false;
  return true;
}

// A file system that accepts the flag but no direct writes fails at the first write. After a partial write,
// the rest is no longer aligned.
base::Status PieceWriter::write_out() {
  std::string_view rest(piece_.get(), std::exchange(used_, 0));
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
