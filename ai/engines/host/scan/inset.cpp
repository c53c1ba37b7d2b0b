#include "ai/engines/host/scan/inset.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr float kFreeAreaMin = 0.25F;  // of the page's height, without a word
constexpr std::size_t kProseWords = 8;
constexpr float kProsePart = 0.08F;   // of a sheet that is covered with words; labels cover less of a chart
constexpr std::size_t kLongLine = 7;  // consecutive words: two such lines also count as prose
constexpr std::size_t kLongLines = 2;
constexpr float kNextWord = 1.2F;  // letter heights: maximum gap between words of a line
constexpr float kLabelGap = 24;    // points: maximum distance between a chart and its labels
constexpr int kWipedWith = 255;
constexpr int kSheetMin = 96;     // darker areas are not paper
constexpr int kSheetSpread = 32;  // tolerance around the gray value of a sheet
constexpr float kSheetPart =
    0.55F;  // of a scan; the rest is ink. In photographs, any one gray value has a smaller part
// Fraction of the page that is ink outside words and figures: a scan of a few lines has more.
constexpr float kLooseInkPart = 0.001F;
constexpr int kLooseInk = 210;  // thin letters are pale in such a small picture

struct InsetRelease {
  void operator()(::Box* box) const { boxDestroy(&box); }
  void operator()(Numa* numbers) const { numaDestroy(&numbers); }
};

std::unique_ptr<::Box, InsetRelease> box_at(const Box& box, float scale) {
  const auto at = [scale](float value) { return pixel_at(value * scale); };
  return std::unique_ptr<::Box, InsetRelease>(
      boxCreate(at(box.x0) - 1, at(box.y0) - 1, at(box.width()) + 3, at(box.height()) + 3));
}

// Whether most of the piece has about the same bright gray value.
bool like_paper(const Picture& piece) {
  const std::unique_ptr<Numa, InsetRelease> histogram(pixGetGrayHistogram(piece.get(), 1));
  std::vector<float> counts(256);
  for (int value = 0; histogram && value < 256; ++value) {
    numaGetFValue(histogram.get(), value, &counts[static_cast<std::size_t>(value)]);
  }
  const auto most = std::max_element(counts.begin() + kSheetMin, counts.end()) - counts.begin();
  float near = 0;
  for (std::ptrdiff_t value = std::max<std::ptrdiff_t>(0, most - kSheetSpread);
       value < std::min<std::ptrdiff_t>(256, most + kSheetSpread); ++value) {
    near += counts[static_cast<std::size_t>(value)];
  }
  return near >= kSheetPart * static_cast<float>(width(piece)) * static_cast<float>(height(piece));
}

bool inside(const Box& word, const Box& figure) {
  return word.middle_x() > figure.x0 && word.middle_x() < figure.x1 && word.middle_y() > figure.y0 &&
         word.middle_y() < figure.y1;
}

bool paper_at(const Picture& small, const Box& figure, float scale) {
  const auto box = box_at(figure, scale);
  const Picture piece(box ? pixClipRectangle(small.get(), box.get(), nullptr) : nullptr);
  return piece && like_paper(piece);
}

bool follows(const Word& word, const Word& before) {
  const float height = std::max(word.box.height(), before.box.height());
  const float gap = word.box.x0 - before.box.x1;
  return std::abs(word.box.middle_y() - before.box.middle_y()) < height / 2 && gap > -height &&
         gap < kNextWord * height;
}

// Whether the words on a figure are prose instead of labels: they cover it or form long lines.
bool is_prose_in(const std::vector<Word>& words, const Box& figure) {
  float area = 0;
  std::size_t count = 0;
  std::size_t in_line = 0;
  std::size_t long_lines = 0;
  const Word* before = nullptr;
  for (const Word& word : words) {
    if (!inside(word.box, figure)) continue;
    ++count;
    area += word.box.width() * word.box.height();
    in_line = before != nullptr && follows(word, *before) ? in_line + 1 : 1;
    if (in_line == kLongLine) ++long_lines;
    before = &word;
  }
  const bool covers = area >= kProsePart * figure.width() * figure.height();
  return count >= kProseWords && (covers || long_lines >= kLongLines);
}

bool near(const Box& one, const Box& other) {
  return one.x0 < other.x1 + kLabelGap && other.x0 < one.x1 + kLabelGap && one.y0 < other.y1 + kLabelGap &&
         other.y0 < one.y1 + kLabelGap;
}

// Merges figures that lie close together, such as the bars of a chart on white, into one chart.
std::vector<Box> charts_of(const std::vector<Box>& figures) {
  std::vector<Box> charts;
  for (Box chart : figures) {
    std::size_t pieces = 0;
    for (std::size_t seen = 1; seen != pieces;) {
      seen = pieces;
      pieces = 0;
      for (const Box& figure : figures) {
        if (!near(chart, figure)) continue;
        chart = united(chart, figure);
        ++pieces;
      }
    }
    if (pieces < 2) continue;
    charts.push_back(
        {chart.x0 - kLabelGap, chart.y0 - kLabelGap, chart.x1 + kLabelGap, chart.y1 + kLabelGap});
  }
  return charts;
}

// Drops words on remaining figures: the names on a map are visible there, and labels are meaningless without
// their chart.
void drop_labels(std::vector<Word>& words, std::vector<Box> figures) {
  for (const Box& chart : charts_of(figures)) {
    if (!is_prose_in(words, chart)) figures.push_back(chart);
  }
  const auto on_figure = [&](const Word& word) {
    return std::any_of(figures.begin(), figures.end(),
                       [&](const Box& figure) { return inside(word.box, figure); });
  };
  words.erase(std::remove_if(words.begin(), words.end(), on_figure), words.end());
}

// Converts from pixels of the rendered page into the units of `text`. Words that were read in another
// orientation than the page's text have no valid position; they are placed below it, where they are readable.
std::vector<Word> words_in(Reading& reading, const PageText& text) {
  const bool set_below = reading.quarter_turns != 0;
  PageText& drawn = reading.recognised.text;
  const float scale = (reading.quarter_turns % 2 == 0 ? drawn.width : drawn.height) / text.width;
  const float down = set_below ? text.height : 0;
  std::vector<Word> words;
  for (Word& word : drawn.words) {
    const Box& box = word.box;
    word.box = {box.x0 / scale, box.y0 / scale + down, box.x1 / scale, box.y1 / scale + down};
    words.push_back(std::move(word));
  }
  return words;
}

// Grids are used only when the page was read in its normal orientation.
std::vector<Grid> grids_in(const Reading& reading, const PageText& text) {
  std::vector<Grid> grids = reading.quarter_turns == 0 ? reading.recognised.grids : std::vector<Grid>();
  for (Grid& grid : grids) grid.scale(text.width / reading.recognised.text.width);
  return grids;
}

}  // namespace

bool has_free_area(const PageText& text) {
  std::vector<std::pair<float, float>> rows{{text.height, text.height}};
  for (const Word& word : text.words) rows.emplace_back(word.box.y0, word.box.y1);
  std::sort(rows.begin(), rows.end());
  float end = 0;
  float widest = 0;
  for (const auto& [top, bottom] : rows) {
    widest = std::max(widest, top - end);
    end = std::max(end, bottom);
  }
  return widest >= kFreeAreaMin * text.height;
}

bool hides_scan(const Picture& small, const PageText& text, const std::vector<Box>& figures) {
  const float scale = static_cast<float>(width(small)) / text.width;
  const Picture ink(pixConvertTo1(small.get(), kLooseInk));
  if (!ink || text.width <= 0) return false;
  for (const Word& word : text.words) pixClearInRect(ink.get(), box_at(word.box, scale).get());
  for (const Box& figure : figures) {
    const auto box = box_at(figure, scale);
    if (paper_at(small, figure, scale)) return true;
    if (box) pixClearInRect(ink.get(), box.get());
  }
  l_int32 count = 0;
  if (pixCountPixels(ink.get(), &count, nullptr) != 0) return false;
  return static_cast<float>(count) >=
         kLooseInkPart * static_cast<float>(width(small)) * static_cast<float>(height(small));
}

void wipe_words(const Picture& gray, const PageText& text) {
  const float scale = text.width > 0 ? static_cast<float>(width(gray)) / text.width : 0;
  for (const Word& word : text.words) {
    const auto box = box_at(word.box, scale);
    if (box) pixSetInRectArbitrary(gray.get(), box.get(), kWipedWith);
  }
}

bool add_reading(Reading reading, const Picture& small, const Enough& enough, PageText& text,
                 std::vector<Box>& figures) {
  if (reading.recognised.confidence < enough.confidence || text.width <= 0) return false;
  const bool set_below = reading.quarter_turns != 0;
  const std::vector<Grid> grids = grids_in(reading, text);
  std::vector<Word> words = words_in(reading, text);
  if (words.size() < enough.words) return false;
  const float scale = static_cast<float>(width(small)) / text.width;
  // A rotated reading does not tell which figure it came from.
  const auto is_scan = [&](const Box& figure) {
    return paper_at(small, figure, scale) && (set_below || is_prose_in(words, figure));
  };
  figures.erase(std::remove_if(figures.begin(), figures.end(), is_scan), figures.end());
  if (!set_below) drop_labels(words, figures);
  text.recognised = words.size() > text.words.size();
  text.words.insert(text.words.end(), std::make_move_iterator(words.begin()),
                    std::make_move_iterator(words.end()));
  std::ranges::move(reading.recognised.text.warnings, std::back_inserter(text.warnings));
  for (const Box& drawing : set_tables(grids, text)) figures.push_back(drawing);
  return true;
}

}  // namespace millrace::engines::host
