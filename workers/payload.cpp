#include "workers/payload.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace millrace::workers {

base::Result<std::string> read_payload(const storage::Blobs& blobs, storage::StoredPayload payload) {
  if (payload.damaged) return storage::damaged_payload(*payload.damaged);
  if (!payload.blob) return std::move(payload.bytes);
  return blobs.read(*payload.blob);
}

base::Result<base::Fd> duplicate_descriptor(const storage::OpenFile& file) {
  base::Fd own(::fcntl(file.fd(), F_DUPFD_CLOEXEC, 0));
  if (!own) return base::error(base::Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  return own;
}

base::Status append_file(std::string& out, int fd, std::uint64_t bytes) {
  const std::size_t had = out.size();
  out.resize(had + bytes);
  for (std::uint64_t at = 0; at < bytes;) {
    const ssize_t count = ::pread(fd, out.data() + had + at, bytes - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return base::error(base::Code::kInternal, "the job's input cannot be read");
    at += static_cast<std::uint64_t>(count);
  }
  return {};
}

base::Status PayloadWriter::append(std::string_view bytes) {
  if (blob_) return blob_->append(bytes);
  if (inline_.size() + bytes.size() <= storage::kInlineMax) {
    inline_ += bytes;
    return {};
  }
  auto begun = blobs_.begin_reserved(expected_bytes_);
  if (!begun) return begun.error();
  blob_ = std::move(*begun);
  if (auto written = blob_->append(inline_); !written) return written;
  inline_.clear();
  return blob_->append(bytes);
}

base::Result<storage::Payload> PayloadWriter::finish() {
  if (!blob_) return storage::Payload{std::move(inline_), nullptr};
  auto staged = blob_->finish();
  if (!staged) return staged.error();
  return storage::Payload{{}, std::move(*staged)};
}

}  // namespace millrace::workers
