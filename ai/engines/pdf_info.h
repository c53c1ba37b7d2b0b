#pragma once
#include <vector>

#include "platform/base/result.h"
#include "platform/process/child.h"

namespace millrace::engines {

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
