#include "ai/engines/host/inset.h"

#include <algorithm>
#include <utility>

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

constexpr float kRoom = 0.25F;  // of the page's height, without a word
constexpr int kConfidenceMin = 60;
constexpr std::size_t kWordsMin = 8;
constexpr int kWipedWith = 255;
constexpr int kSheetMin = 96;        // darker is no paper
constexpr int kSheetSpread = 32;     // of its gray values, to both sides
constexpr float kSheetPart = 0.55F;  // of a scan: the rest is ink. Photographs have less of any one gray
// Ink beside words and figures, of the page: a scan of a few lines has more.
constexpr float kLooseInkPart = 0.001F;
constexpr int kLooseInk = 210;  // thin letters are pale in so small a picture

struct InsetRelease {
  void operator()(::Box* box) const { boxDestroy(&box); }
  void operator()(Numa* numbers) const { numaDestroy(&numbers); }
};

std::unique_ptr<::Box, InsetRelease> box_at(const Box& box, float scale) {
  const auto at = [scale](float value) { return static_cast<int>(value * scale); };
  return std::unique_ptr<::Box, InsetRelease>(
      boxCreate(at(box.x0) - 1, at(box.y0) - 1, at(box.width()) + 3, at(box.height()) + 3));
}

// Most of it has one bright gray value, or nearly so.
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

// From pixels of the drawn page into the units of `text`. What was read in another turn than the page's own
// text lies elsewhere in truth; it is set below, where it makes sense.
std::vector<Word> words_in(Reading reading, const PageText& text) {
  const bool set_below = reading.quarter_turns != 0;
  const PageText& drawn = reading.recognised.text;
  const float scale = (reading.quarter_turns % 2 == 0 ? drawn.width : drawn.height) / text.width;
  const float down = set_below ? text.height : 0;
  std::vector<Word> words;
  for (const Word& word : drawn.words) {
    const Box& box = word.box;
    words.push_back({{box.x0 / scale, box.y0 / scale + down, box.x1 / scale, box.y1 / scale + down},
                     word.text,
                     false,
                     false});
  }
  return words;
}

}  // namespace

bool leaves_room(const PageText& text) {
  std::vector<std::pair<float, float>> rows{{text.height, text.height}};
  for (const Word& word : text.words) rows.emplace_back(word.box.y0, word.box.y1);
  std::sort(rows.begin(), rows.end());
  float end = 0;
  float widest = 0;
  for (const auto& [top, bottom] : rows) {
    widest = std::max(widest, top - end);
    end = std::max(end, bottom);
  }
  return widest >= kRoom * text.height;
}

bool hides_scan(const Picture& small, const PageText& text, const std::vector<Box>& figures) {
  const float scale = static_cast<float>(width(small)) / text.width;
  const Picture ink(pixConvertTo1(small.get(), kLooseInk));
  if (!ink || text.width <= 0) return false;
  for (const Word& word : text.words) pixClearInRect(ink.get(), box_at(word.box, scale).get());
  for (const Box& figure : figures) {
    const auto box = box_at(figure, scale);
    const Picture piece(box ? pixClipRectangle(small.get(), box.get(), nullptr) : nullptr);
    if (piece && like_paper(piece)) return true;
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

void add_reading(Reading reading, PageText& text, std::vector<Box>& figures) {
  if (reading.recognised.confidence < kConfidenceMin || text.width <= 0) return;
  const bool set_below = reading.quarter_turns != 0;
  std::vector<Word> words = words_in(std::move(reading), text);
  if (words.size() < kWordsMin) return;
  // A turned reading says nothing of which figure it came from.
  const auto is_scan = [&](const Box& figure) {
    const auto of_it =
        std::count_if(words.begin(), words.end(), [&](const Word& word) { return inside(word.box, figure); });
    return set_below || static_cast<std::size_t>(of_it) >= kWordsMin;
  };
  figures.erase(std::remove_if(figures.begin(), figures.end(), is_scan), figures.end());
  // Words on what stays a figure, as the names on a map, are seen there.
  const auto on_figure = [&](const Word& word) {
    return std::any_of(figures.begin(), figures.end(),
                       [&](const Box& figure) { return inside(word.box, figure); });
  };
  words.erase(std::remove_if(words.begin(), words.end(), on_figure), words.end());
  text.recognised = words.size() > text.words.size();
  text.words.insert(text.words.end(), std::make_move_iterator(words.begin()),
                    std::make_move_iterator(words.end()));
}

}  // namespace millrace::engines::host
