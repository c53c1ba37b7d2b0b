#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/host/tool.h"
#include "ai/engines/ocr/document.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines::host {

// A run of consecutive pages; indexes from 0, both ends included.
struct Run {
  int first = 0;
  int last = 0;
  int count() const { return last - first + 1; }
};
std::vector<Run> runs_of(std::vector<int> pages);

// One PDF, read through poppler: sizes, text layer, rasters. One process handles a whole run of pages.
class Pdf {
 public:
  static constexpr int kDpi = 200;

  // `document_fd`: a memory file; borrowed.
  Pdf(const Tools& tools, const EngineLimits& limits, int document_fd)
      : tools_(tools), limits_(limits), document_fd_(document_fd) {}

  // Returns the number of pages and loads the sizes of those of the run, which may end past the last page.
  // Errors of the document.
  base::Result<int> look_at(Run run);
  // REQUIRES: look_at was called for the page.
  const PdfPage& size_of(int page) const { return pages_.at(static_cast<std::size_t>(page)); }

  // Work on a page begins; may be called more than once for a page.
  using OnBegin = std::function<void(int page)>;
  // Receives the text layer of a page, or why there is none: kPageFailed (poppler could not read it; it may
  // still be rendered), kPageTimeout (it takes longer than page_wall).
  using OnText = std::function<void(int page, base::Result<PageText> text)>;
  // Reads the text layer of a run, page after page. kDocumentBomb: a text layer exceeds the CPU or memory
  // limits.
  base::Status text(Run run, const OnBegin& on_begin, const OnText& on_text);

  // Receives the raster of a page, or why there is none (kPageTimeout, kPageFailed).
  using OnRaster = std::function<void(int page, base::Result<Picture> picture)>;
  struct Drawing {
    int dpi = kDpi;
    bool colour = false;
  };
  // Rasters of a run. A page whose long side would exceed raster_side_max is rendered smaller.
  void raster(Run run, Drawing drawing, const OnBegin& on_begin, const OnRaster& on_raster);

  // Actual resolution at which `raster` renders a page for a requested `dpi`.
  int real_dpi(int page, int dpi) const;
  // The pages of a run that contain a picture of more than a few pixels, each with the part of the page that
  // the largest picture covers. nullopt: the pictures could not be listed within the limits of time and size,
  // so every page may have some.
  std::optional<std::map<int, float>> pictures(Run run);

 private:
  struct TextStreams;
  // Progress of a stream of pages.
  struct Progress {
    enum class Why { kDone, kUndecided, kLate, kPageFailed };
    int next = 0;  // page
    Why why = Why::kDone;
  };
  template <class Some>
  static base::Status page_by_page(Run run, const OnBegin& on_begin, const Some& some);
  base::Result<TextStreams> start_text(Run run) const;
  base::Result<Progress> text_some(Run run, const OnBegin& on_begin, const OnText& on_text) const;
  bool oversized(int page, int dpi) const;
  bool uncropped(int page) const;
  Progress raster_some(Run run, Drawing drawing, const OnBegin& on_begin, const OnRaster& on_raster) const;

  const Tools& tools_;
  const EngineLimits& limits_;
  int document_fd_;
  std::vector<PdfPage> pages_;  // sizes only of the pages that look_at has loaded
};

// Whether the page tree of a PDF has more than `count` pages. `count` is what the file declares and what
// poppler uses; when it is too small, pages would be lost silently. Also false when the tree cannot be read
// without repairing the file: in doubt, poppler's count is accepted.
bool holds_more_pages(std::string_view pdf, int count);

// Levels of the page tree. A tree that is built page by page has as many levels as pages.
inline constexpr int kPageNestingMax = 1000;

// Call it before poppler reads the file: poppler and qpdf need time and stack for each level.
// kDocumentBomb: the pages are nested deeper than kPageNestingMax. No error when the tree cannot be read
// within `cpu` or without repairing the file: the later checks decide.
base::Status check_page_nesting(std::string_view pdf, std::chrono::milliseconds cpu);

// holds_more_pages in a copy of this process: qpdf recurses as deep as the page tree. kDocumentPageCount:
// there are more pages. kDocumentBomb: reading the tree exceeds `cpu`, the memory or the stack.
base::Status check_page_count(std::string_view pdf, int count, std::chrono::milliseconds cpu);

}  // namespace millrace::engines::host
