#include "ai/engines/document.h"

#include <sys/stat.h>
#include <unistd.h>

namespace millrace::engines {
namespace {

using base::Code;

}  // namespace

Document::Document(base::Fd fd, std::uint64_t size_bytes, schemas::Media media)
    : fd_(std::move(fd)), size_bytes_(size_bytes), media_(media) {}

base::Result<std::shared_ptr<const Document>> Document::from(base::Fd fd) {
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return base::error(Code::kInternal, "the document's bytes cannot be read");
  }
  if (status.st_size == 0) return base::error(Code::kDocumentEmpty, "the document is empty");
  const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
  if (size_bytes > kBytesMax)
    return base::error(Code::kDocumentTooLarge, "the document is larger than 50 MB");
  char head[schemas::kMediaHeadBytes];
  const ssize_t count = ::pread(fd.get(), head, sizeof head, 0);
  if (count <= 0) return base::error(Code::kInternal, "the document's bytes cannot be read");
  const auto media = schemas::detect_media({head, static_cast<std::size_t>(count)});
  if (!media) {
    return base::error(Code::kDocumentUnsupported, "not a PDF, PNG, JPEG or WebP by its first bytes");
  }
  return std::shared_ptr<const Document>(new Document(std::move(fd), size_bytes, *media));
}

}  // namespace millrace::engines
