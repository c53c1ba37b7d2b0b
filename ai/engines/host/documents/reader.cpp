#include "ai/engines/host/documents/reader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include <sys/mman.h>

#include "ai/engines/host/documents/figures.h"
#include "ai/engines/host/documents/pdf.h"
#include "ai/engines/host/pictures/image.h"
#include "ai/engines/host/scan/inset.h"
#include "ai/engines/host/scan/language_check.h"
#include "ai/engines/host/tool.h"
#include "ai/engines/layout/bbox_xml.h"
#include "ai/engines/layout/combs.h"
#include "ai/engines/layout/direction.h"
#include "ai/engines/layout/layer_words.h"
#include "ai/engines/layout/layout.h"
#include "ai/engines/layout/markers.h"
#include "ai/engines/layout/open_tables.h"
#include "ai/engines/layout/quantities.h"
#include "ai/engines/layout/scan_layer.h"
#include "ai/engines/layout/unreadable.h"

namespace millrace::engines::host {
namespace {

using base::Code;

constexpr int kFineDpi = 300;
constexpr float kFineLetters = 8;  // pixels at 200 dpi: smaller letters are recognised better at 300 dpi
constexpr int kFigureDpi = 72;
// A scan may have a few words of text, such as a stamp or a header; its picture is the content.
constexpr float kScanPart = 0.6F;
constexpr std::size_t kScanWords = 50;
constexpr float kInsetPart = 0.1F;  // a smaller picture among text is not a scanned page
// When the text layer is only a page number or a stamp, the rest of the page is the content.
constexpr Enough kEnoughBesideShort{.letters = 8, .confidence = 45, .words = 2};
// Where words are no text, there is text; but in another language than those that are set it reads badly. One
// word is read for at most this many of them.
constexpr Enough kEnoughForUnreadable{.letters = 1, .confidence = kSureConfidence, .words = 1};
constexpr std::size_t kUnreadableForOne = 3;
constexpr std::size_t kFormWords = 150;  // of a page that may have boxes to tick without fields
constexpr std::size_t kDataBytesMax = std::size_t{32} << 20;  // of all pictures of a page together

bool is_scan(const PageText& text, float picture_part) {
  return picture_part >= kScanPart && text.words.size() < kScanWords;
}

// The fraction of a page that its largest picture covers; the whole page if the pictures are unknown.
float picture_part(const std::optional<std::map<int, float>>& pictures, int page) {
  if (!pictures) return 1;
  const auto found = pictures->find(page);
  return found == pictures->end() ? 0 : found->second;
}

// The dictionary of a picture is always plain text in the file, so a file without the name /Image has no
// pictures. (/ImageB and similar names are procedure sets.)
bool names_pictures(std::string_view pdf) {
  constexpr std::string_view kName = "/Image";
  for (std::size_t at = 0; (at = pdf.find(kName, at)) != std::string_view::npos; at += kName.size()) {
    const char next = at + kName.size() < pdf.size() ? pdf[at + kName.size()] : ' ';
    if (std::isalnum(static_cast<unsigned char>(next)) == 0) return true;
  }
  return false;
}

int rounded(float value) { return static_cast<int>(std::lround(std::clamp(value, -kFarthest, kFarthest))); }

// The figures of a page in pixels, `scale` of which are one unit of their boxes.
std::vector<PageImage> listed(const std::vector<Box>& figures, int page, float scale) {
  std::vector<PageImage> images;
  for (const Box& box : figures) {
    std::string id = "img-";
    id.append(std::to_string(page)).append("-").append(std::to_string(images.size())).append(".jpeg");
    images.push_back({id,
                      rounded(box.x0 * scale),
                      rounded(box.y0 * scale),
                      rounded(box.x1 * scale),
                      rounded(box.y1 * scale),
                      {}});
  }
  return images;
}

// Adds the figures, which are those of `images`, to the words.
void place_figures(const std::vector<Box>& figures, const std::vector<PageImage>& images, PageText& text) {
  for (std::size_t i = 0; i < figures.size(); ++i) {
    std::string mark("![");
    mark.append(images[i].id).append("](").append(images[i].id).append(")");
    text.words.push_back({figures[i], std::move(mark), false, true});
  }
}

void add_data(std::vector<PageImage>& images, const Picture& picture) {
  std::size_t bytes = 0;
  for (PageImage& image : images) {
    if (!picture || bytes > kDataBytesMax) return;
    image.data_uri = jpeg_data_uri(picture, image.x0, image.y0, image.x1, image.y1);
    bytes += image.data_uri.size();
    if (bytes > kDataBytesMax) image.data_uri.clear();
  }
}

PageOutcome failed_page(int page, base::Error error) {
  PageOutcome outcome;
  outcome.index = page;
  outcome.error = std::move(error);
  return outcome;
}

void add_warning(std::optional<schemas::PageWarning> warning, PageText& text) {
  if (warning) text.warnings.push_back(std::move(*warning));
}

// The error is not caused by the page: the model is missing, and every page would fail.
bool of_engine(const base::Error& error) { return error.code == Code::kInternal; }

schemas::PageWarning warning_of(const base::Error& late) {
  return {std::string(schemas::kPageWarningTimeout), late.message + "; the rest of it was not read"};
}

void move_warnings(std::vector<schemas::PageWarning> warnings, PageOutcome& outcome) {
  std::ranges::move(warnings, std::back_inserter(outcome.warnings));
  outcome.warnings.resize(std::min(outcome.warnings.size(), kPageWarningsMax));
}

PageOutcome recognised_outcome(int page, Recognised recognised, int dpi) {
  PageOutcome outcome;
  outcome.index = recognised.text.index = page;
  for (const Box& drawing : set_tables(recognised.grids, recognised.text))
    recognised.figures.push_back(drawing);
  join_quantities(recognised.text);
  set_open_tables(recognised.rules, recognised.text);
  outcome.images = listed(recognised.figures, page, 1);
  place_figures(recognised.figures, outcome.images, recognised.text);
  outcome.dimensions = PageDimensions{dpi, rounded(recognised.text.height), rounded(recognised.text.width)};
  outcome.markdown = markdown_of(recognised.text);
  if (recognised.late) outcome.warnings.push_back(warning_of(*recognised.late));
  move_warnings(std::move(recognised.text.warnings), outcome);
  return outcome;
}

}  // namespace

void DocumentReader::close() {
  pdf_.reset();
  has_form_.reset();
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  bytes_ = {};
  file_.reset();
}

base::Status DocumentReader::open(base::Fd fd, schemas::Media media, std::uint64_t size_bytes) {
  close();
  media_ = media;
  file_ = std::move(fd);
  void* map = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, file_.get(), 0);
  if (map == MAP_FAILED) return base::error(Code::kInternal, "the document cannot be copied into its jail");
  bytes_ = {static_cast<const char*>(map), size_bytes};
  if (media == schemas::Media::kPdf) pdf_.emplace(tools_, limits_, file_.get());
  return {};
}

base::Result<int> DocumentReader::page_count() {
  if (pdf_) {
    if (auto flat = check_page_nesting(bytes_, limits_.poppler_cpu); !flat) return flat.error();
  }
  auto count = look_at({0, limits_.pages_max - 1});
  if (!count || !pdf_) return count;
  if (auto right = check_page_count(bytes_, *count, limits_.poppler_cpu); !right) return right.error();
  return count;
}

base::Result<int> DocumentReader::look_at(Run run) {
  if (pdf_) return pdf_->look_at(run);
  auto head = image_head(bytes_, limits_);
  if (!head) return std::move(head.error());
  return 1;
}

base::Status DocumentReader::recognise(const std::vector<int>& pages, const RecogniseOptions& options,
                                       const Sink& sink) {
  if (pages.empty()) return {};
  const auto [first, last] = std::minmax_element(pages.begin(), pages.end());
  auto count = look_at({std::max(*first, 0), std::max(*last, 0)});
  if (!count) return std::move(count.error());
  for (const int page : pages) {
    if (page < 0 || page >= *count) {
      return base::error(Code::kInvalidField, "page " + std::to_string(page) + " is not in the document",
                         "pages");
    }
  }
  return pdf_ ? recognise_pdf(pages, options, sink) : recognise_image(options, sink);
}

base::Status DocumentReader::recognise_pdf(const std::vector<int>& pages, const RecogniseOptions& options,
                                           const Sink& sink) {
  const bool may_have_pictures = names_pictures(bytes_);
  std::map<int, PageText> scans;
  std::map<int, Pictured> pictured;
  std::map<int, PageText> drawn;
  for (const Run run : runs_of(pages)) {
    sink.begin(run.first);
    const auto pictures = may_have_pictures ? pdf_->pictures(run) : std::map<int, float>{};
    auto status = pdf_->text(run, sink.begin, [&](int page, base::Result<PageText> text) {
      const float part = picture_part(pictures, page);
      const bool scan = !text || is_scan(*text, part);
      if (text && part >= kScanPart) mend_cut_boxes(text->words);
      std::vector<Word> unreadable = text ? take_unreadable(*text) : std::vector<Word>();
      if (!text && text.error().code == Code::kPageTimeout) {
        sink.page(failed_page(page, std::move(text.error())));
      } else if (scan || text->words.empty() || (!unreadable.empty() && short_text(*text))) {
        scans.emplace(page, text ? std::move(*text) : PageText());
      } else if (!unreadable.empty()) {
        pictured.emplace(
            page, Pictured{.text = std::move(*text), .part = part, .unreadable = std::move(unreadable)});
      } else if (short_text(*text)) {
        // Letters may be drawn as outlines, and a scan may consist of strips too small to count: render it to
        // find out.
        pictured.emplace(page, Pictured{.text = std::move(*text), .part = part, .is_short = true});
      } else if (part > 0 && (part < kScanPart || has_free_area(*text))) {
        pictured.emplace(page, Pictured{.text = std::move(*text), .part = part});
      } else if (may_draw(*text)) {
        drawn.emplace(page, std::move(*text));
      } else {
        sink.page(text_outcome(std::move(*text), {}, {}));
      }
    });
    if (!status) return status;
  }
  report_drawn(std::move(drawn), pictured, sink);
  if (auto status = read_pictured(std::move(pictured), options, sink); !status) return status;
  return read_scans(scans, options, sink);
}

// Whether it is worth to read what the page draws besides text: tables, bullets, or boxes to tick.
bool DocumentReader::may_draw(const PageText& text) {
  if (text.words.size() < kFormWords || may_hold_tables(text) || may_hold_items(text)) return true;
  if (!has_form_) has_form_ = has_form(bytes_, limits_.poppler_cpu);
  return *has_form_;
}

// Reports the pages of text that may draw something. Finds what the pages with pictures draw, too.
void DocumentReader::report_drawn(std::map<int, PageText> drawn, std::map<int, Pictured>& pictured,
                                  const Sink& sink) {
  std::vector<int> pages;
  for (const auto& [page, text] : drawn) pages.push_back(page);
  for (const auto& [page, found] : pictured) {
    if (may_draw(found.text)) pages.push_back(page);
  }
  if (pages.empty()) return;
  sink.begin(pages.front());
  std::map<int, PageDrawing> drawings = drawings_of(bytes_, pages, limits_.poppler_cpu);
  for (auto& [page, found] : pictured) found.drawing = std::move(drawings[page]);
  for (auto& [page, text] : drawn) {
    sink.begin(page);
    sink.page(text_outcome(std::move(text), std::move(drawings[page]), {}));
  }
}

PageOutcome DocumentReader::text_outcome(PageText text, PageDrawing drawing, std::vector<Box> figures) const {
  const PdfPage size = pdf_->size_of(text.index);
  const int dpi = pdf_->real_dpi(text.index, Pdf::kDpi);
  const float scale = static_cast<float>(dpi) / 72;
  PageOutcome outcome;
  outcome.index = text.index;
  text.width = size.width;
  text.height = size.height;
  // The images are listed as they stand on the page; all else is turned with the text.
  outcome.images = listed(figures, text.index, scale);
  for (int turns = turns_to_upright(text.words); turns > 0; --turns) {
    turn_drawing(drawing, text.height);
    for (Box& figure : figures) figure = quarter_turned(figure, text.height);
    turn_page(text, 1);
  }
  const std::vector<std::string> stamps = take_stamps(text);
  add_drawn_bullets(drawing.dots, text.words);
  join_quantities(text);
  join_boxed_characters(drawing.rules, drawing.check_boxes, text);
  add_check_boxes(drawing.check_boxes, text);
  set_open_tables(set_ruled_tables(drawing.rules, text), text);
  place_figures(figures, outcome.images, text);
  outcome.dimensions = PageDimensions{dpi, rounded(size.height * scale), rounded(size.width * scale)};
  outcome.markdown = markdown_of(text);
  append_stamps(stamps, outcome.markdown);
  move_warnings(std::move(text.warnings), outcome);
  return outcome;
}

base::Status DocumentReader::read_pictured(std::map<int, Pictured> pictured, const RecogniseOptions& options,
                                           const Sink& sink) {
  base::Status status;
  std::vector<int> pages;
  pages.reserve(pictured.size());
  for (const auto& [page, text] : pictured) pages.push_back(page);
  for (const Run run : runs_of(std::move(pages))) {
    pdf_->raster(run, {.dpi = kFigureDpi}, sink.begin, [&](int page, base::Result<Picture> small) {
      if (!status) return;
      sink.begin(page);
      Pictured& found = pictured.at(page);
      if (!small) keep_unreadable(found);
      auto outcome = small
                         ? pictured_outcome(std::move(found), *small, options)
                         : base::Result<PageOutcome>(text_outcome(std::move(found.text), found.drawing, {}));
      if (outcome) {
        sink.page(std::move(*outcome));
      } else {
        status = std::move(outcome.error());
      }
    });
  }
  return status;
}

base::Result<PageOutcome> DocumentReader::pictured_outcome(Pictured page, const Picture& small,
                                                           const RecogniseOptions& options) {
  const int index = page.text.index;
  page.text.width = pdf_->size_of(index).width;
  page.text.height = pdf_->size_of(index).height;
  const bool unreadable = !page.unreadable.empty();
  // Most short pages have no other content, which counting their ink shows quickly.
  const bool bare = page.part == 0 && (unreadable || !hides_scan(small, page.text, {}));
  std::vector<Box> figures = bare ? std::vector<Box>{} : find_figures(small, page.text);
  const bool may_hide = unreadable || page.is_short || page.part >= kInsetPart;
  if (may_hide && (unreadable || hides_scan(small, page.text, figures))) {
    if (auto status = add_scan(page, small, figures); !status) return std::move(status.error());
  }
  PageOutcome outcome = text_outcome(std::move(page.text), page.drawing, figures);
  if (options.image_data && !outcome.images.empty()) {
    add_data(outcome.images, drawn_alone(index, Pdf::kDpi, true));
  }
  return outcome;
}

// Adds the text of pictures that are scans to a page with a text layer. If a picture cannot be read, the page
// does not fail, because it has text. An error: only of the engine.
base::Status DocumentReader::add_scan(Pictured& page, const Picture& small, std::vector<Box>& figures) {
  Picture raster = drawn_alone(page.text.index, Pdf::kDpi, false);
  if (!raster) return keep_unreadable(page), base::Status();
  wipe_words(raster, page.text);
  Enough enough = !page.unreadable.empty() ? kEnoughForUnreadable
                  : page.is_short          ? kEnoughBesideShort
                                           : Enough{};
  enough.words = std::max(enough.words, page.unreadable.size() / kUnreadableForOne);
  Prepared prepared = prepare(raster);
  if (prepared.letters < enough.letters) return keep_unreadable(page), base::Status();
  auto reading = scan_reader_.read(raster, std::move(prepared));
  if (!reading && of_engine(reading.error())) return std::move(reading.error());
  if (reading && reading->recognised.late)
    page.text.warnings.push_back(warning_of(*reading->recognised.late));
  auto warning = reading ? language_warning(*reading, raster, languages_) : std::nullopt;
  const bool added = reading && add_reading(std::move(*reading), small, enough, page.text, figures);
  if (added || !page.unreadable.empty()) add_warning(std::move(warning), page.text);
  if (!added) keep_unreadable(page);
  return {};
}

void DocumentReader::keep_unreadable(Pictured& page) {
  if (page.unreadable.empty()) return;
  std::ranges::move(page.unreadable, std::back_inserter(page.text.words));
  if (!page.text.warnings.empty()) return;  // the language explains it
  page.text.warnings.push_back(
      {std::string(schemas::kPageWarningUnsure),
       "a part of the text layer has the numbers of glyphs in place of letters, and its picture cannot be "
       "read well: check ocr.languages"});
}

base::Status DocumentReader::read_scans(const std::map<int, PageText>& scans, const RecogniseOptions& options,
                                        const Sink& sink) {
  base::Status status;
  std::vector<int> pages;
  for (const auto& [page, layer] : scans) pages.push_back(page);
  for (const Run run : runs_of(std::move(pages))) {
    pdf_->raster(run, {}, sink.begin, [&](int page, base::Result<Picture> raster) {
      if (!status) return;
      sink.begin(page);
      auto outcome = raster ? scan_outcome(page, std::move(*raster), scans.at(page), options)
                            : base::Result<PageOutcome>(std::move(raster.error()));
      if (!outcome && of_engine(outcome.error())) {
        status = std::move(outcome.error());
      } else {
        sink.page(outcome ? std::move(*outcome) : failed_page(page, std::move(outcome.error())));
      }
    });
  }
  return status;
}

Picture DocumentReader::drawn_alone(int page, int dpi, bool colour) {
  Picture drawn;
  const auto keep = [&drawn](int, base::Result<Picture> picture) {
    if (picture) drawn = std::move(*picture);
  };
  pdf_->raster(
      {page, page}, {dpi, colour}, [](int) {}, keep);
  return drawn;
}

base::Result<PageOutcome> DocumentReader::scan_outcome(int page, Picture raster, PageText layer,
                                                       const RecogniseOptions& options) {
  int dpi = pdf_->real_dpi(page, Pdf::kDpi);
  Prepared prepared = prepare(raster);
  const bool tiny = !prepared.blank && prepared.letter_px < kFineLetters;
  if (tiny && pdf_->real_dpi(page, kFineDpi) > dpi) {
    if (Picture finer = drawn_alone(page, kFineDpi, false)) {
      dpi = pdf_->real_dpi(page, kFineDpi);
      raster = std::move(finer);
      prepared = prepare(raster);
    }
  }
  auto reading = scan_reader_.read(raster, std::move(prepared));
  if (!reading) return std::move(reading.error());
  add_warning(language_warning(*reading, raster, languages_), reading->recognised.text);
  layer.width = pdf_->size_of(page).width;
  layer.height = pdf_->size_of(page).height;
  keep_layer(layer, reading->quarter_turns, reading->recognised.text);
  PageOutcome outcome = recognised_outcome(page, std::move(reading->recognised), dpi);
  if (options.image_data && !outcome.images.empty()) {
    const Picture colour = drawn_alone(page, dpi, true);
    if (colour) add_data(outcome.images, turned(colour, reading->quarter_turns));
  }
  return outcome;
}

base::Status DocumentReader::recognise_image(const RecogniseOptions& options, const Sink& sink) {
  sink.begin(0);
  auto picture = decode_image(bytes_);
  if (!picture) return std::move(picture.error());
  const int dpi = resolution(*picture);
  const Picture gray = to_gray(*picture);
  if (!options.image_data) picture->reset();
  if (!gray) return base::error(Code::kImageTooLarge, "the image needs more memory than the engine has");
  auto reading = scan_reader_.read(gray);
  if (!reading) {
    if (of_engine(reading.error())) return std::move(reading.error());
    sink.page(failed_page(0, std::move(reading.error())));
    return {};
  }
  add_warning(language_warning(*reading, gray, languages_), reading->recognised.text);
  PageOutcome outcome = recognised_outcome(0, std::move(reading->recognised), dpi);
  if (options.image_data && !outcome.images.empty()) {
    add_data(outcome.images, turned(*picture, reading->quarter_turns));
  }
  sink.page(std::move(outcome));
  return {};
}

namespace {

using base::Code;

// The resolution at which the long side of the page has about `side` pixels.
int small_dpi(const PdfPage& size, int side) {
  const float inches = std::max(size.width, size.height) / 72;
  const float dpi = inches > 0 ? static_cast<float>(side) / inches : 1;
  return std::clamp(static_cast<int>(std::ceil(dpi)), 1, Pdf::kDpi);
}

base::Error not_drawn() { return base::error(Code::kPageFailed, "the page cannot be rendered"); }

}  // namespace

base::Result<std::string> DocumentReader::draw(int page, int side) {
  if (page < 0 || side < 1) return not_drawn();
  auto count = look_at({page, page});
  if (!count) return std::move(count.error());
  if (page >= *count) {
    return base::error(Code::kInvalidField, "page " + std::to_string(page) + " is not in the document",
                       "pages");
  }
  auto picture = pdf_ ? drawn_small(page, side) : decode_image(bytes_);
  if (!picture) return std::move(picture.error());
  std::string jpeg = small_jpeg(*picture, side);
  if (jpeg.empty()) return not_drawn();
  return jpeg;
}

base::Result<Picture> DocumentReader::drawn_small(int page, int side) {
  base::Result<Picture> drawn = not_drawn();
  const Pdf::Drawing drawing{.dpi = small_dpi(pdf_->size_of(page), side), .colour = true};
  pdf_->raster(
      {page, page}, drawing, [](int) {},
      [&drawn](int, base::Result<Picture> picture) { drawn = std::move(picture); });
  return drawn;
}

}  // namespace millrace::engines::host
