#include "workers/ocr_document.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/base/base64.h"

namespace millrace::workers {
namespace {

base::Error broken_spec() {
  return base::error(base::Code::kInternal, "the stored document is not readable");
}

base::Result<OpenedDocument> opened(process::Fd fd) {
  auto document = engines::Document::from(std::move(fd));
  if (!document) return document.error();
  return OpenedDocument{*document, static_cast<std::int64_t>((*document)->size_bytes())};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

base::Result<OpenedDocument> open_input(storage::Blobs& blobs, const storage::BlobRef& input) {
  auto file = blobs.open(input);
  if (!file) return file.error();
  return opened(process::Fd(::fcntl(file->fd(), F_DUPFD_CLOEXEC, 3)));
}

base::Result<OpenedDocument> open_inline(const std::string& base64) {
  const auto bytes = base::base64_decode(base64);
  process::Fd memory(::memfd_create("document", MFD_CLOEXEC));
  if (!bytes || memory.get() < 0 || !write_all(memory.get(), *bytes)) return broken_spec();
  return opened(std::move(memory));
}

base::Result<storage::Staged> stage_inline(storage::Blobs& blobs, const std::string& base64) {
  const auto bytes = base::base64_decode(base64);
  if (!bytes) return broken_spec();
  auto writer = blobs.begin(static_cast<std::int64_t>(bytes->size()));
  if (!writer) return writer.error();
  if (const base::Status written = (*writer)->append(*bytes); !written) return written.error();
  return (*writer)->finish();
}

}  // namespace millrace::workers
