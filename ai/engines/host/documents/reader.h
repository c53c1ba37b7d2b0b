#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/host/documents/page_rules.h"
#include "ai/engines/host/documents/pdf.h"
#include "ai/engines/host/scan/scan_reader.h"
#include "ai/engines/ocr/pages.h"
#include "platform/base/fd.h"

namespace millrace::engines::host {

// Callbacks for pages.
struct Sink {
  std::function<void(int page)> begin;    // work on this page begins
  std::function<void(PageOutcome)> page;  // once per page
};

// The current document: its file, which poppler can open by its descriptor, and its known properties. Not
// thread-safe.
class DocumentReader {
 public:
  DocumentReader(const Tools& tools, const EngineLimits& limits, Recogniser& recogniser)
      : tools_(tools),
        limits_(limits),
        scan_reader_(limits, recogniser),
        languages_(recogniser.languages()) {}
  ~DocumentReader() { close(); }
  DocumentReader(const DocumentReader&) = delete;
  DocumentReader& operator=(const DocumentReader&) = delete;

  // kInternal: `fd` is empty (the gateway could not copy the document) or cannot be mapped.
  base::Status open(base::Fd fd, schemas::Media media, std::uint64_t size_bytes);

  base::Result<int> page_count();
  // Reports every page of `pages` once, or fails as a whole with an error of the document.
  base::Status recognise(const std::vector<int>& pages, const RecogniseOptions& options, const Sink& sink);
  // The page as a JPEG file whose long side has at most `side` pixels. An error of the document, or
  // kInvalidField, kPageTimeout, kPageFailed.
  base::Result<std::string> draw(int page, int side);

 private:
  // The number of pages. For a PDF, it also loads the sizes of the pages of the run.
  base::Result<int> look_at(Run run);
  base::Status recognise_pdf(const std::vector<int>& pages, const RecogniseOptions& options,
                             const Sink& sink);
  base::Status recognise_image(const RecogniseOptions& options, const Sink& sink);
  // A page of text with a picture that covers `part` of it.
  struct Pictured {
    PageText text;
    PageDrawing drawing{};
    float part = 0;
    bool is_short = false;              // the rest of the page is text rather than a picture
    std::vector<Word> unreadable = {};  // words that are no text: they are recognised from the picture
  };
  bool may_draw(const PageText& text);
  void report_drawn(std::map<int, PageText> drawn, std::map<int, Pictured>& pictured, const Sink& sink);
  base::Status read_pictured(std::map<int, Pictured> pictured, const RecogniseOptions& options,
                             const Sink& sink);
  base::Result<PageOutcome> pictured_outcome(Pictured page, const Picture& small,
                                             const RecogniseOptions& options);
  base::Status add_scan(Pictured& page, const Picture& small, std::vector<Box>& figures);
  static void keep_unreadable(Pictured& page);
  // `scans`: the pages, each with the words of its text layer.
  base::Status read_scans(const std::map<int, PageText>& scans, const RecogniseOptions& options,
                          const Sink& sink);
  base::Result<PageOutcome> scan_outcome(int page, Picture raster, PageText layer,
                                         const RecogniseOptions& options);
  PageOutcome text_outcome(PageText text, PageDrawing drawing, std::vector<Box> figures) const;
  Picture drawn_alone(int page, int dpi, bool colour);
  base::Result<Picture> drawn_small(int page, int side);
  void close();

  const Tools& tools_;
  const EngineLimits& limits_;
  ScanReader scan_reader_;
  const std::string& languages_;
  schemas::Media media_ = schemas::Media::kPdf;
  base::Fd file_;
  std::string_view bytes_;
  std::optional<Pdf> pdf_;
  std::optional<bool> has_form_;  // nullopt: not known yet
};

}  // namespace millrace::engines::host
