#include "ai/engines/host/documents/pdf.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>
#include <utility>

#include <qpdf/qpdf-c.h>

#include "ai/engines/layout/bbox_xml.h"

namespace millrace::engines::host {
namespace {

using base::Code;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// Maximum average CPU time of a sound page in a long run. A single page may use all of `poppler_cpu`.
constexpr milliseconds kTextPageCpu{100};
constexpr milliseconds kRasterPageCpu{1000};
constexpr int kPicturePixelsMin = 48;

std::vector<std::string> page_range(Run run) {
  return {"-f", std::to_string(run.first + 1), "-l", std::to_string(run.last + 1)};
}

std::vector<std::string> with(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

base::Error too_slow(const char* what, const EngineLimits& limits) {
  return base::error(Code::kPageTimeout, std::string("the page takes longer than ") +
                                             std::to_string(limits.page_wall.count()) + " ms to " + what +
                                             " (ocr.page_timeout)");
}

// A line of `pdfimages -list`.
struct PictureRow {
  int page = 0, width = 0, height = 0;
  float x_ppi = 0, y_ppi = 0;
  float square_points() const {
    return static_cast<float>(width) / x_ppi * static_cast<float>(height) / y_ppi * 72 * 72;
  }
};

bool read_picture_row(const std::string& line, PictureRow& row) {
  const int found = std::sscanf(line.c_str(), "%d %*d image %d %d %*s %*s %*s %*s %*s %*s %*s %f %f",
                                &row.page, &row.width, &row.height, &row.x_ppi, &row.y_ppi);
  return found == 5 && row.width >= kPicturePixelsMin && row.height >= kPicturePixelsMin && row.x_ppi > 0 &&
         row.y_ppi > 0;
}

// Reads the raster of one page from the pipe.
class RasterReader {
 public:
  RasterReader(ToolStream& stream, const EngineLimits& limits) : stream_(stream), limits_(limits) {}

  // kPageFailed: the stream ends or is invalid. kPageTimeout: the time limit of the page or the limits of the
  // whole stream were exceeded.
  base::Result<Picture> next() {
    deadline_ = Steady::now() + limits_.page_wall;
    std::optional<NetpbmHead> head;
    while (!(head = netpbm_head(buffer_))) {
      if (buffer_.size() > 64) return failed();
      if (auto status = more(); !status) return std::move(status.error());
    }
    const auto pixels_max = static_cast<std::size_t>(limits_.raster_side_max) + 8;
    if (head->bytes() > pixels_max * pixels_max * 3) return failed();
    const std::size_t size = head->head_bytes + head->bytes();
    buffer_.reserve(size + (std::size_t{1} << 18));
    while (buffer_.size() < size) {
      if (auto status = more(); !status) return std::move(status.error());
    }
    Picture picture = picture_of(*head, std::string_view(buffer_).substr(head->head_bytes));
    buffer_.erase(0, size);
    if (!picture) return failed();
    return picture;
  }
  // The last page exceeded its time limit.
  bool page_was_late() const { return late_; }

 private:
  static base::Error failed() { return base::error(Code::kPageFailed, "the page cannot be rendered"); }

  base::Status more() {
    switch (stream_.read_some(buffer_, deadline_)) {
      case ToolStream::Read::kData:
        return {};
      case ToolStream::Read::kTimeout:
        late_ = true;
        return too_slow("render", limits_);
      case ToolStream::Read::kEnd:
        if (!stream_.hit_bounds()) return failed();
        return base::error(Code::kPageTimeout, "rendering the page exceeds its limit of processor time");
    }
    return failed();
  }

  ToolStream& stream_;
  const EngineLimits& limits_;
  std::string buffer_;
  Steady::time_point deadline_;
  bool late_ = false;
};

}  // namespace

std::vector<Run> runs_of(std::vector<int> pages) {
  std::sort(pages.begin(), pages.end());
  std::vector<Run> runs;
  for (const int page : pages) {
    if (!runs.empty() && runs.back().last + 1 == page) {
      runs.back().last = page;
    } else if (runs.empty() || runs.back().last != page) {
      runs.push_back({page, page});
    }
  }
  return runs;
}

// The stream of the text, and a parallel stream that tells which lines are bold.
struct Pdf::TextStreams {
  enum class Outcome { kPage, kUnreadable, kBounds, kLate };

  ToolStream words;
  std::optional<ToolStream> styles;
  const EngineLimits& limits;
  BboxReader word_reader;
  StyleReader style_reader;

  Outcome next(PageText& page) {
    const auto deadline = Steady::now() + limits.page_wall;
    std::optional<PageText> found;
    while (!(found = word_reader.next())) {
      if (word_reader.overflow()) return Outcome::kBounds;
      std::string piece;
      const auto read = words.read_some(piece, deadline);
      if (read == ToolStream::Read::kTimeout) return Outcome::kLate;
      if (read == ToolStream::Read::kEnd) return words.hit_bounds() ? Outcome::kBounds : Outcome::kUnreadable;
      word_reader.feed(piece);
    }
    page = std::move(*found);
    add_styles(page, deadline);
    return Outcome::kPage;
  }

  // Without styles, a page has fewer headings but does not fail.
  void add_styles(PageText& page, Steady::time_point deadline) {
    std::optional<std::vector<Box>> lines;
    while (styles && !(lines = style_reader.next())) {
      std::string piece;
      if (styles->read_some(piece, deadline) != ToolStream::Read::kData || style_reader.overflow()) {
        styles.reset();
      }
      style_reader.feed(piece);
    }
    if (lines) mark_bold(page, *lines);
  }
};

base::Result<int> Pdf::look_at(Run run) {
  auto captured = tools_.capture("pdfinfo", with({"-box"}, with(page_range(run), {"%"})), document_fd_);
  if (!captured) return std::move(captured.error());
  auto read = read_pdf_info(*captured, run.last, limits_.pages_max);
  if (!read) return std::move(read.error());
  pages_ = std::move(*read);
  return static_cast<int>(pages_.size());
}

base::Result<Pdf::TextStreams> Pdf::start_text(Run run) const {
  const milliseconds cpu = limits_.poppler_cpu + kTextPageCpu * run.count();
  const auto range = page_range(run);
  std::vector<std::string> options{"-bbox-layout"};
  if (!uncropped(run.first)) options.emplace_back("-cropbox");
  auto words = tools_.start("pdftotext", with(options, with(range, {"%", "-"})), document_fd_, cpu);
  if (!words) return std::move(words.error());
  auto styles =
      tools_.start("pdftohtml", with({"-xml", "-i", "-stdout", "-q"}, with(range, {"%"})), document_fd_, cpu);
  TextStreams streams{std::move(*words), std::nullopt, limits_, {}, {}};
  if (styles) streams.styles = std::move(*styles);
  return streams;
}

// Processes a run in streams of pages; each stream continues until it fails. A program buffers the end of its
// output, so the awaited page may be complete and the next one may be slow. After a timeout, pages are
// therefore processed one at a time, until a page fails alone.
template <class Some>
base::Status Pdf::page_by_page(Run run, const OnBegin& on_begin, const Some& some) {
  bool alone = false;
  for (int page = run.first; page <= run.last;) {
    on_begin(page);
    auto progress = some(Run{page, alone ? page : run.last});
    if (!progress) return std::move(progress.error());
    page = progress->next;
    if (progress->why == Progress::Why::kLate) alone = true;
    if (progress->why == Progress::Why::kPageFailed) alone = false;
  }
  return {};
}

namespace {

// The parts of a run whose pages are of one kind: one call of a program reads them alike.
template <class Kind>
std::vector<Run> runs_alike(Run run, const Kind& kind) {
  std::vector<Run> runs;
  for (int page = run.first; page <= run.last; ++page) {
    if (page == run.first || kind(page) != kind(page - 1)) runs.push_back({page, page});
    runs.back().last = page;
  }
  return runs;
}

}  // namespace

base::Status Pdf::text(Run run, const OnBegin& on_begin, const OnText& on_text) {
  for (const Run& alike : runs_alike(run, [&](int page) { return uncropped(page); })) {
    auto read = page_by_page(alike, on_begin, [&](Run part) { return text_some(part, on_begin, on_text); });
    if (!read) return read;
  }
  return {};
}

// Reads until a page fails. The limits apply to the whole stream, so only its first page can be blamed for
// exceeding them. For a later page, a new stream decides.
base::Result<Pdf::Progress> Pdf::text_some(Run run, const OnBegin& on_begin, const OnText& on_text) const {
  using Outcome = TextStreams::Outcome;
  using Why = Progress::Why;
  auto streams = start_text(run);
  if (!streams) return std::move(streams.error());
  for (int page = run.first; page <= run.last; ++page) {
    PageText text;
    const Outcome outcome = streams->next(text);
    if (outcome == Outcome::kPage) {
      text.index = page;
      on_text(page, std::move(text));
      if (page < run.last) on_begin(page + 1);
      continue;
    }
    if (outcome == Outcome::kLate && run.count() > 1) return Progress{page, Why::kLate};
    if (outcome != Outcome::kLate && page > run.first) return Progress{page, Why::kUndecided};
    if (outcome == Outcome::kBounds) {
      return base::error(Code::kDocumentBomb,
                         "reading page " + std::to_string(page + 1) + " exceeds the limit of time or memory");
    }
    on_text(page, outcome == Outcome::kLate
                      ? too_slow("read", limits_)
                      : base::error(Code::kPageFailed, "the page's text cannot be read"));
    return Progress{page + 1, Why::kPageFailed};
  }
  return Progress{run.last + 1, Why::kDone};
}

int Pdf::real_dpi(int page, int dpi) const {
  const PdfPage& size = size_of(page);
  const float side = std::max(size.width, size.height) / 72;
  if (side * static_cast<float>(dpi) <= static_cast<float>(limits_.raster_side_max)) return dpi;
  return std::max(1, static_cast<int>(static_cast<float>(limits_.raster_side_max) / side));
}

bool Pdf::uncropped(int page) const {
  const auto at = static_cast<std::size_t>(page);
  return at < pages_.size() && pages_[at].uncropped;
}

bool Pdf::oversized(int page, int dpi) const { return real_dpi(page, dpi) != dpi; }

void Pdf::raster(Run run, Drawing drawing, const OnBegin& on_begin, const OnRaster& on_raster) {
  const auto kind = [&](int page) { return std::pair(oversized(page, drawing.dpi), uncropped(page)); };
  for (const Run& alike : runs_alike(run, kind)) {
    static_cast<void>(page_by_page(alike, on_begin, [&](Run part) {
      return base::Result<Progress>(raster_some(part, drawing, on_begin, on_raster));
    }));
  }
}

// Renders until a page fails. The page to blame is decided as in text_some.
Pdf::Progress Pdf::raster_some(Run run, Drawing drawing, const OnBegin& on_begin,
                               const OnRaster& on_raster) const {
  using Why = Progress::Why;
  std::vector<std::string> arguments = page_range(run);
  if (!drawing.colour) arguments.emplace_back("-gray");
  const bool small = oversized(run.first, drawing.dpi);
  if (!uncropped(run.first)) arguments.emplace_back("-cropbox");
  arguments.insert(arguments.end(), {"-q", small ? "-scale-to" : "-r",
                                     std::to_string(small ? limits_.raster_side_max : drawing.dpi), "%"});
  const milliseconds cpu = limits_.poppler_cpu + kRasterPageCpu * (run.count() - 1);
  auto stream = tools_.start("pdftoppm", std::move(arguments), document_fd_, cpu);
  if (!stream) {
    on_raster(run.first, std::move(stream.error()));
    return {run.first + 1, Why::kPageFailed};
  }
  RasterReader reader(*stream, limits_);
  for (int page = run.first; page <= run.last; ++page) {
    auto picture = reader.next();
    const bool failed = !picture;
    if (failed && reader.page_was_late() && run.count() > 1) return {page, Why::kLate};
    if (failed && !reader.page_was_late() && page > run.first) return {page, Why::kUndecided};
    on_raster(page, std::move(picture));
    if (failed) return {page + 1, Why::kPageFailed};
    if (page < run.last) on_begin(page + 1);
  }
  return {run.last + 1, Why::kDone};
}

std::optional<std::map<int, float>> Pdf::pictures(Run run) {
  auto captured = tools_.capture("pdfimages", with({"-list"}, with(page_range(run), {"%"})), document_fd_);
  if (!captured || captured->timed_out || captured->truncated || captured->exit.signal != 0) {
    return std::nullopt;
  }
  std::map<int, float> pages;
  std::istringstream lines(captured->out);
  for (std::string line; std::getline(lines, line);) {
    PictureRow row;
    if (!read_picture_row(line, row) || row.page < 1 || row.page > static_cast<int>(pages_.size())) continue;
    const PdfPage& page = pages_[static_cast<std::size_t>(row.page - 1)];
    float& part = pages[row.page - 1];
    part = std::max(part, row.square_points() / (page.width * page.height));
  }
  return pages;
}

namespace {

// Uses qpdf's C interface, because its C++ headers do not compile with clang in C++20.
class PageTreeFile {
 public:
  explicit PageTreeFile(std::string_view pdf) : file_(qpdf_init()) {
    qpdf_silence_errors(file_);
    qpdf_set_suppress_warnings(file_, QPDF_TRUE);
    qpdf_set_attempt_recovery(file_, QPDF_FALSE);
    read_ = (qpdf_read_memory(file_, "document", pdf.data(), pdf.size(), nullptr) & QPDF_ERRORS) == 0;
  }
  ~PageTreeFile() {
    if (qpdf_has_error(file_) != QPDF_FALSE) qpdf_get_error(file_);  // otherwise qpdf prints it
    qpdf_cleanup(&file_);
  }
  PageTreeFile(const PageTreeFile&) = delete;
  PageTreeFile& operator=(const PageTreeFile&) = delete;

  int pages() {
    const int found = read_ ? qpdf_get_num_pages(file_) : -1;
    return qpdf_has_error(file_) == QPDF_FALSE ? found : -1;
  }

  // Walks level by level, each node once: recursion would need as much stack as the file says.
  bool nests_deeper_than(int levels_max) {
    if (!read_) return false;
    std::set<int> seen;
    std::vector<qpdf_oh> level{qpdf_oh_get_key_if_dict(file_, qpdf_get_root(file_), "/Pages")};
    for (int depth = 0; !level.empty(); ++depth) {
      if (depth > levels_max) return true;
      level = nodes_below(level, seen);
    }
    return false;
  }

 private:
  // The kids that were not met before. Those that are no numbered objects have no name to be met by: qpdf
  // limits how deep they nest.
  std::vector<qpdf_oh> nodes_below(const std::vector<qpdf_oh>& level, std::set<int>& seen) {
    std::vector<qpdf_oh> below;
    for (const qpdf_oh node : level) {
      const qpdf_oh kids = qpdf_oh_get_key_if_dict(file_, node, "/Kids");
      if (qpdf_oh_is_array(file_, kids) == QPDF_FALSE) continue;
      const int count = qpdf_oh_get_array_n_items(file_, kids);
      for (int i = 0; i < count; ++i) {
        const qpdf_oh kid = qpdf_oh_get_array_item(file_, kids, i);
        const int id = qpdf_oh_get_object_id(file_, kid);  // 0: it is no numbered object
        if (id == 0 || seen.insert(id).second) below.push_back(kid);
      }
    }
    return below;
  }

  qpdf_data file_;
  bool read_ = false;
};

}  // namespace

bool holds_more_pages(std::string_view pdf, int count) { return PageTreeFile(pdf).pages() > count; }

base::Status check_page_nesting(std::string_view pdf, milliseconds cpu) {
  const auto deep =
      run_in_copy(cpu, [&] { return PageTreeFile(pdf).nests_deeper_than(kPageNestingMax) ? 1 : 0; });
  if (deep.value_or(0) == 0) return {};
  return base::error(Code::kDocumentBomb, "the document nests its pages deeper than " +
                                              std::to_string(kPageNestingMax) +
                                              " levels (page_nesting_max): print it to a new PDF");
}

base::Status check_page_count(std::string_view pdf, int count, milliseconds cpu) {
  const auto more = run_in_copy(cpu, [&] { return holds_more_pages(pdf, count) ? 1 : 0; });
  if (!more) return opening_is_a_bomb();
  if (*more != 0) return wrong_page_count();
  return {};
}

}  // namespace millrace::engines::host
