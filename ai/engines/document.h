#pragma once
#include <cstdint>
#include <memory>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "schemas/media.h"

namespace millrace::engines {

// One document as the engines take it: an open descriptor on its bytes (a blob), never a path. Immutable;
// share it between calls, so that an engine child copies it once. Thread-safe.
class Document {
 public:
  static constexpr std::uint64_t kBytesMax = std::uint64_t{50} << 20;

  // `fd`: a regular file opened for reading. Looks at its size and first bytes (blocks for one read).
  // kDocumentEmpty, kDocumentTooLarge (above 50 MB), kDocumentUnsupported.
  static base::Result<std::shared_ptr<const Document>> from(base::Fd fd);

  int fd() const { return fd_.get(); }
  std::uint64_t size_bytes() const { return size_bytes_; }
  schemas::Media media() const { return media_; }

 private:
  Document(base::Fd fd, std::uint64_t size_bytes, schemas::Media media);
  base::Fd fd_;
  std::uint64_t size_bytes_;
  schemas::Media media_;
};

}  // namespace millrace::engines
