#pragma once
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "ai/engines/host/pictures/page_part.h"
#include "ai/engines/layout/number_columns.h"
#include "ai/engines/ocr/pages.h"
#include "platform/base/result.h"

namespace tesseract {
class TessBaseAPI;
}
namespace millrace::engines::host {

// Pixels: digits are read better in larger letters than prose needs.
inline constexpr float kPartLetters = 18;

// Runs the recogniser within the time of the page.
using RunRecogniser = std::function<base::Status()>;

// Whether a word lies across the left or the right side of the box. Both arguments use the same units.
bool cuts_words(const Box& box, const std::vector<Word>& words);

// Reads parts of a page a second time, at the scale that suits their letters and without the lines in them.
class PartReader {
 public:
  PartReader(tesseract::TessBaseAPI& api, const Prepared& page, RunRecogniser run)
      : api_(api), page_(page), run_(std::move(run)) {}
  // Replaces the words of tables where the second reading is as complete and as sure as the first. Of a table
  // with more text than there is time for, only columns of numbers are read. What would cut a word stays as
  // it is. In pixels of `text`.
  void read_again(const std::vector<TableRegion>& tables, PageText& text);

 private:
  bool take(const Box& box, PageText& text);
  std::vector<Word> words_in(const Box& box);

  tesseract::TessBaseAPI& api_;
  const Prepared& page_;
  RunRecogniser run_;
  std::size_t left_ = 0;  // characters that may be read
};

}  // namespace millrace::engines::host
