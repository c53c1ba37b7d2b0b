#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "ai/engines/host/pictures/drawn_tables.h"
#include "ai/engines/ocr/pages.h"
#include "platform/base/result.h"

namespace tesseract {
class LTRResultIterator;
class TessBaseAPI;
}  // namespace tesseract
namespace millrace::engines::host {

// Reads the cells of a drawn table. No word crosses from one cell to another. A cell is read a second time,
// alone, when a word was cut at its edge, when nothing was read in it, or when its text is not sure. What is
// much higher than wide may run up or down.
class TableReader {
 public:
  // Runs the recogniser within the time of the page.
  using Run = std::function<base::Status()>;
  TableReader(tesseract::TessBaseAPI& api, const DrawnTable& table) : api_(api), table_(table) {}
  // The words at their places on the page, in the pixels of the table's grid. Errors of `run`.
  base::Result<std::vector<Word>> read(const Run& run);
  // Average of the first reading, 0 to 100.
  int confidence() const { return confidence_; }

 private:
  struct Cell {
    std::vector<Word> words;
    float confidence = 100;  // of the least sure word
    bool cut = false;        // a word was cut at its edge
  };
  std::vector<Cell> cells_of_all() const;
  bool is_below_or_above_a_number(const std::vector<Cell>& cells, std::size_t i) const;
  void add_word(const tesseract::LTRResultIterator& at, std::vector<Cell>& cells) const;
  static bool is_doubtful(const Cell& cell);
  void read_again(std::size_t piece, Cell& cell, const Run& run);
  void read_turned(std::size_t piece, Cell& cell, const Run& run);

  tesseract::TessBaseAPI& api_;
  const DrawnTable& table_;
  int confidence_ = 0;
};

}  // namespace millrace::engines::host
