#pragma once
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

// A run of neighbouring pages, indexes from 0, both ends included.
struct Run {
  int first = 0;
  int last = 0;
  int count() const { return last - first + 1; }
};
std::vector<Run> runs_of(std::vector<int> pages);

// One PDF through poppler: sizes, text layer, rasters. One process serves a whole run of pages.
class Pdf {
 public:
  static constexpr int kDpi = 200;

  // `document_fd`: a memory file; borrowed.
  Pdf(const Tools& tools, const EngineLimits& limits, int document_fd)
      : tools_(tools), limits_(limits), document_fd_(document_fd) {}

  // How many pages there are, and from then on the sizes of those of the run, which may end past the last
  // one. The document's own errors.
  base::Result<int> look_at(Run run);
  // REQUIRES: looked at.
  const PdfPage& size_of(int page) const { return pages_.at(static_cast<std::size_t>(page)); }

  // The work on a page begins, perhaps anew.
  using OnBegin = std::function<void(int page)>;
  // What a page's text layer gives: its words, or why there are none: kPageFailed (poppler could not read it;
  // it may still be drawn), kPageTimeout (it takes longer than page_wall).
  using OnText = std::function<void(int page, base::Result<PageText> text)>;
  // The text layer of a run, page after page.
  // kDocumentBomb: a text layer that needs more CPU or memory than a sound one can.
  base::Status text(Run run, const OnBegin& on_begin, const OnText& on_text);

  // What a raster of a page gives: its picture, or why there is none (kPageTimeout, kPageFailed).
  using OnRaster = std::function<void(int page, base::Result<Picture> picture)>;
  struct Drawing {
    int dpi = kDpi;
    bool colour = false;
  };
  // Rasters of a run; a page whose long side would be above raster_side_max is drawn smaller.
  void raster(Run run, Drawing drawing, const OnBegin& on_begin, const OnRaster& on_raster);

  // Resolution at which `raster` draws a page when asked for `dpi`.
  int real_dpi(int page, int dpi) const;
  // The pages of a run that hold a picture of more than a few pixels, with the part of the page that the
  // largest covers. nullopt: they cannot be listed within the bounds of time and size, so there may be any.
  std::optional<std::map<int, float>> pictures(Run run);

 private:
  struct TextStreams;
  // How far a stream of pages came.
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
  Progress raster_some(Run run, Drawing drawing, const OnBegin& on_begin, const OnRaster& on_raster) const;

  const Tools& tools_;
  const EngineLimits& limits_;
  int document_fd_;
  std::vector<PdfPage> pages_;  // of those not looked at, no size is known
};

// Whether the page tree of a PDF holds more than `count` pages: then `count`, which is what the file says of
// itself and what poppler goes by, is too small, and pages would be lost without a word. False as well where
// the tree cannot be read without repairing the file: any doubt leaves poppler's word.
bool holds_more_pages(std::string_view pdf, int count);

}  // namespace millrace::engines::host
