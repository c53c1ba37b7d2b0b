#include "ai/engines/host/pdf.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "ai/engines/bbox_xml.h"

namespace millrace::engines::host {
namespace {

using base::Code;
using std::chrono::milliseconds;

// CPU that a sound page needs at most on the average of a long run; one page alone may use all of
// `poppler_cpu`.
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

// One page's raster as it comes down the pipe.
class RasterReader {
 public:
  RasterReader(ToolStream& stream, const EngineLimits& limits) : stream_(stream), limits_(limits) {}

  // kPageFailed when the stream ends or is none, kPageTimeout when it stalls or its bounds were hit.
  base::Result<Picture> next() {
    std::optional<NetpbmHead> head;
    while (!(head = netpbm_head(buffer_))) {
      if (buffer_.size() > 64) return failed();
      if (auto status = more(); !status) return std::move(status.error());
    }
    const auto pixels_max = static_cast<std::size_t>(limits_.raster_side_max + 8);
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

 private:
  static base::Error failed() { return base::error(Code::kPageFailed, "the page cannot be drawn"); }
  static base::Error late() { return base::error(Code::kPageTimeout, "the page takes too long to draw"); }

  base::Status more() {
    switch (stream_.read_some(buffer_, limits_.page_wall)) {
      case ToolStream::Read::kData:
        return {};
      case ToolStream::Read::kTimeout:
        return late();
      case ToolStream::Read::kEnd:
        return stream_.hit_bounds() ? late() : failed();
    }
    return failed();
  }

  ToolStream& stream_;
  const EngineLimits& limits_;
  std::string buffer_;
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

// The text and, beside it, which lines are bold.
struct Pdf::TextStreams {
  enum class Outcome { kPage, kUnreadable, kBounds };

  ToolStream words;
  std::optional<ToolStream> styles;
  const EngineLimits& limits;
  BboxReader word_reader;
  StyleReader style_reader;

  Outcome next(PageText& page) {
    std::optional<PageText> found;
    while (!(found = word_reader.next())) {
      if (word_reader.overflow()) return Outcome::kBounds;
      std::string piece;
      const auto read = words.read_some(piece, limits.page_wall);
      if (read == ToolStream::Read::kTimeout) return Outcome::kBounds;
      if (read == ToolStream::Read::kEnd) return words.hit_bounds() ? Outcome::kBounds : Outcome::kUnreadable;
      word_reader.feed(piece);
    }
    page = std::move(*found);
    add_styles(page);
    return Outcome::kPage;
  }

  // Without styles a page has fewer headings, and is no failure.
  void add_styles(PageText& page) {
    std::optional<std::vector<Box>> lines;
    while (styles && !(lines = style_reader.next())) {
      std::string piece;
      if (styles->read_some(piece, limits.page_wall) != ToolStream::Read::kData || style_reader.overflow()) {
        styles.reset();
      }
      style_reader.feed(piece);
    }
    if (lines) mark_bold(page, *lines);
  }
};

base::Result<std::vector<PdfPage>> Pdf::pages() {
  if (!pages_.empty()) return pages_;
  auto captured =
      tools_.capture("pdfinfo", {"-f", "1", "-l", std::to_string(limits_.pages_max), "%"}, document_fd_);
  if (!captured) return std::move(captured.error());
  auto read = read_pdf_info(*captured, limits_.pages_max);
  if (!read) return std::move(read.error());
  pages_ = std::move(*read);
  return pages_;
}

base::Result<Pdf::TextStreams> Pdf::start_text(Run run) const {
  const milliseconds cpu = limits_.poppler_cpu + kTextPageCpu * run.count();
  const auto range = page_range(run);
  auto words = tools_.start("pdftotext", with({"-cropbox", "-bbox-layout"}, with(range, {"%", "-"})),
                            document_fd_, cpu);
  if (!words) return std::move(words.error());
  auto styles =
      tools_.start("pdftohtml", with({"-xml", "-i", "-stdout", "-q"}, with(range, {"%"})), document_fd_, cpu);
  TextStreams streams{std::move(*words), std::nullopt, limits_, {}, {}};
  if (styles) streams.styles = std::move(*styles);
  return streams;
}

base::Status Pdf::text(Run run, const std::function<void(int, std::optional<PageText>)>& on_page) {
  int page = run.first;
  while (page <= run.last) {
    auto streams = start_text({page, run.last});
    if (!streams) return std::move(streams.error());
    const int started_at = page;
    auto outcome = TextStreams::Outcome::kPage;
    while (page <= run.last && outcome == TextStreams::Outcome::kPage) {
      PageText text;
      outcome = streams->next(text);
      if (outcome != TextStreams::Outcome::kPage) break;
      text.index = page;
      on_page(page++, std::move(text));
    }
    if (page > run.last || page > started_at) continue;  // a fresh start decides about the page that is next
    if (outcome == TextStreams::Outcome::kBounds) {
      return base::error(Code::kDocumentBomb, "reading page " + std::to_string(page + 1) +
                                                  " takes more time or memory than any sound page");
    }
    on_page(page++, std::nullopt);
  }
  return {};
}

int Pdf::real_dpi(int page, int dpi) const {
  const PdfPage& size = pages_.at(static_cast<std::size_t>(page));
  const float side = std::max(size.width, size.height) / 72;
  if (side * static_cast<float>(dpi) <= static_cast<float>(limits_.raster_side_max)) return dpi;
  return std::max(1, static_cast<int>(static_cast<float>(limits_.raster_side_max) / side));
}

bool Pdf::oversized(int page, int dpi) const { return real_dpi(page, dpi) != dpi; }

void Pdf::raster(Run run, int dpi, bool colour, const OnRaster& on_raster) {
  int first = run.first;
  for (int page = run.first + 1; page <= run.last + 1; ++page) {
    if (page <= run.last && oversized(page, dpi) == oversized(first, dpi)) continue;
    raster_alike({first, page - 1}, dpi, colour, on_raster);
    first = page;
  }
}

void Pdf::raster_alike(Run run, int dpi, bool colour, const OnRaster& on_raster) {
  int page = run.first;
  while (page <= run.last) page = raster_some({page, run.last}, dpi, colour, on_raster);
}

// Draws until a page fails; the first page of a run that fails is the one to blame. Returns the next page to
// draw.
int Pdf::raster_some(Run run, int dpi, bool colour, const OnRaster& on_raster) {
  std::vector<std::string> arguments = page_range(run);
  if (!colour) arguments.emplace_back("-gray");
  const bool small = oversized(run.first, dpi);
  arguments.insert(arguments.end(), {"-cropbox", "-q", small ? "-scale-to" : "-r",
                                     std::to_string(small ? limits_.raster_side_max : dpi), "%"});
  const milliseconds cpu = limits_.poppler_cpu + kRasterPageCpu * (run.count() - 1);
  auto stream = tools_.start("pdftoppm", std::move(arguments), document_fd_, cpu);
  if (!stream) {
    on_raster(run.first, std::move(stream.error()));
    return run.first + 1;
  }
  RasterReader reader(*stream, limits_);
  for (int page = run.first; page <= run.last; ++page) {
    auto picture = reader.next();
    if (!picture && page > run.first) return page;
    const bool failed = !picture;
    on_raster(page, std::move(picture));
    if (failed) return page + 1;
  }
  return run.last + 1;
}

std::map<int, float> Pdf::pictures(Run run) {
  std::map<int, float> pages;
  auto captured = tools_.capture("pdfimages", with({"-list"}, with(page_range(run), {"%"})), document_fd_);
  if (!captured) return pages;
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

}  // namespace millrace::engines::host
