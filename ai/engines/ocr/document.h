#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/child.h"
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

// A page's size in points as it is shown (its rotation applied).
struct PdfPage {
  float width = 0;
  float height = 0;
};

// Reads what `pdfinfo -f FIRST -l LAST` said, with the sizes of those pages among all; `last`: an index from
// 0, which may lie past the document's last page. kDocumentEncrypted, kDocumentPageCount (the count is not
// that of the pages that are there), kDocumentTooManyPages, kDocumentBomb (it ran into its bounds of
// computing time or memory), kDocumentDamaged, kInternal (opened_too_slowly).
base::Result<std::vector<PdfPage>> read_pdf_info(const process::Captured& pdfinfo, int last, int pages_max);

// kDocumentPageCount.
base::Error wrong_page_count();

// kDocumentBomb.
base::Error opening_is_a_bomb();

// A look into a document that was ended by the clock alone: worth another try.
base::Error opened_too_slowly();

}  // namespace millrace::engines
