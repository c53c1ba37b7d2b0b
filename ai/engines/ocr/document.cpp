#include "ai/engines/ocr/document.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace millrace::engines {
namespace {

using base::Code;

}  // namespace

Document::Document(base::Fd fd, std::string owner, std::uint64_t size_bytes, schemas::Media media)
    : fd_(std::move(fd)), owner_(std::move(owner)), size_bytes_(size_bytes), media_(media) {}

base::Result<std::shared_ptr<const Document>> Document::from(base::Fd fd, std::string owner) {
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
    return base::error(Code::kDocumentUnsupported,
                       "the first bytes are not those of a PDF, PNG, JPEG or WebP");
  }
  return std::shared_ptr<const Document>(new Document(std::move(fd), std::move(owner), size_bytes, *media));
}

namespace {

using base::Code;
using base::error;

bool says(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

}  // namespace

base::Error wrong_page_count() {
  return error(Code::kDocumentPageCount,
               "the document's declared page count differs from the number of its pages");
}

base::Error opening_is_a_bomb() {
  return error(Code::kDocumentBomb, "opening the document exceeds the limit of time or memory");
}

// The process used less CPU time than a bomb would: the machine is busy and may be less busy later.
base::Error opened_too_slowly() {
  return error(Code::kInternal,
               "opening the document took longer than a page may (ocr.page_timeout): the machine is busy");
}

namespace {

base::Error failure(const process::Captured& pdfinfo) {
  if (says(pdfinfo.err, "Incorrect password")) {
    return error(Code::kDocumentEncrypted, "the document needs a password: send a copy that has none");
  }
  // Neither a certificate nor a later kind of encryption is known: "Couldn't find the 'Adobe.PubSec' security
  // handler", "Unsupported version/revision (9/9) of Standard security handler".
  if (says(pdfinfo.err, "security handler")) {
    return error(Code::kDocumentEncrypted,
                 "the document is encrypted for a certificate or in an unknown way: send a copy that is not");
  }
  if (pdfinfo.timed_out) return opened_too_slowly();
  if (pdfinfo.exit.signal == SIGXCPU) return opening_is_a_bomb();
  if (says(pdfinfo.err, "Invalid page count") || says(pdfinfo.err, "Page count (")) return wrong_page_count();
  // A document with no pages cannot be opened, whichever pages were requested.
  if (says(pdfinfo.err, "Wrong page range") && !says(pdfinfo.err, "the last page (0)")) {
    return error(Code::kInvalidField, "the pages are not in the document", "pages");
  }
  return error(Code::kDocumentDamaged, "the document is damaged or cut off: it cannot be opened");
}

// "Page    3 size:  595 x 842 pts (A4)", "Page    3 rot:   90" and, after all of these,
// "Page    3 MediaBox:      0.00     0.00   595.00   842.00".
class SizeReader {
 public:
  explicit SizeReader(std::size_t count) : pages_(count), turned_(count) {}

  void read_line(const std::string& line) {
    unsigned number = 0;
    int used = 0;
    if (std::sscanf(line.c_str(), "Page %u %n", &number, &used) != 1) return;
    if (number < 1 || number > pages_.size()) return;
    PdfPage& page = pages_[number - 1];
    const char* rest = line.c_str() + used;
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    int turn = 0;
    if (std::sscanf(rest, "size: %f x %f", &x1, &y1) == 2) {
      page = {x1, y1};
    } else if (std::sscanf(rest, "rot: %d", &turn) == 1 && turn % 180 != 0) {
      turned_[number - 1] = true;
      std::swap(page.width, page.height);
    } else if (std::sscanf(rest, "MediaBox: %f %f %f %f", &x0, &y0, &x1, &y1) == 4 && is_empty(page)) {
      page = {x1 - x0, y1 - y0, true};
      if (turned_[number - 1]) std::swap(page.width, page.height);
    }
  }

  static bool is_empty(const PdfPage& page) { return page.width <= 0 || page.height <= 0; }
  std::vector<PdfPage> take() { return std::move(pages_); }

 private:
  std::vector<PdfPage> pages_;
  std::vector<bool> turned_;
};

int count_of(const std::string& out) {
  const auto at = out.find("Pages:");
  int count = -1;
  if (at == std::string::npos || std::sscanf(out.c_str() + at, "Pages: %d", &count) != 1) return -1;
  return count;
}

}  // namespace

base::Result<std::vector<PdfPage>> read_pdf_info(const process::Captured& pdfinfo, int last, int pages_max) {
  const int count = count_of(pdfinfo.out);
  if (!pdfinfo.exit.ok() || count < 0) return failure(pdfinfo);
  if (count == 0) return wrong_page_count();
  if (count > pages_max) {
    return error(Code::kDocumentTooManyPages, "the document has " + std::to_string(count) +
                                                  " pages; at most " + std::to_string(pages_max) +
                                                  " are supported: send it in parts");
  }
  SizeReader reader(static_cast<std::size_t>(count));
  std::size_t at = 0;
  while (at < pdfinfo.out.size()) {
    const std::size_t end = std::min(pdfinfo.out.find('\n', at), pdfinfo.out.size());
    reader.read_line(pdfinfo.out.substr(at, end - at));
    at = end + 1;
  }
  std::vector<PdfPage> pages = reader.take();
  // poppler reports a size of 0 × 0 and no media box for a page that the page tree does not have.
  const PdfPage& last_shown = pages[static_cast<std::size_t>(std::clamp(last, 0, count - 1))];
  if (SizeReader::is_empty(last_shown) && !last_shown.uncropped) return wrong_page_count();
  return pages;
}

}  // namespace millrace::engines
