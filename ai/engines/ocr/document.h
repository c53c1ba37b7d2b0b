#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/child.h"
#include "schemas/media/document_type.h"

namespace millrace::engines {

// A document for the engines: an open descriptor of its bytes (a blob), never a path. Immutable. Share it
// between calls, so that an engine child copies it only once. Thread-safe.
class Document {
 public:
  static constexpr std::uint64_t kBytesMax = std::uint64_t{50} << 20;

  // `fd`: a regular file opened for reading. `owner`: its tenant. Checks its size and first bytes (blocks for
  // one read). kDocumentEmpty, kDocumentTooLarge (above 50 MB), kDocumentUnsupported.
  static base::Result<std::shared_ptr<const Document>> from(base::Fd fd, std::string owner);

  int fd() const { return fd_.get(); }
  const std::string& owner() const { return owner_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  schemas::Media media() const { return media_; }

 private:
  Document(base::Fd fd, std::string owner, std::uint64_t size_bytes, schemas::Media media);
  base::Fd fd_;
  std::string owner_;
  std::uint64_t size_bytes_;
  schemas::Media media_;
};

// Size of a page in points as displayed (with its rotation applied).
struct PdfPage {
  float width = 0;
  float height = 0;
  bool uncropped = false;  // its crop box has no part of its media box: the media box is shown
};

// Parses the output of `pdfinfo -box -f FIRST -l LAST`. Returns one entry per page of the document; those of
// the run have sizes. `last`: an index from 0, which may lie past the last page. kDocumentEncrypted,
// kDocumentPageCount (the declared count differs from the pages present), kDocumentTooManyPages,
// kDocumentBomb (pdfinfo exceeded its CPU or memory limit), kDocumentDamaged, kInternal (opened_too_slowly).
base::Result<std::vector<PdfPage>> read_pdf_info(const process::Captured& pdfinfo, int last, int pages_max);

// kDocumentPageCount.
base::Error wrong_page_count();

// kDocumentBomb.
base::Error opening_is_a_bomb();

// Opening the document hit the wall-clock limit only; worth a retry.
base::Error opened_too_slowly();

}  // namespace millrace::engines
