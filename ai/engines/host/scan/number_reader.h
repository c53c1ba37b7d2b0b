#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/engines/host/scan/part_reader.h"
#include "ai/engines/layout/number_columns.h"
#include "ai/engines/layout/number_shape.h"

namespace millrace::engines::host {

// Reads numbers of tables that differ from the others of their column a second time: alone, larger, and with
// the characters of that column only. Points and commas that the picture has are kept.
class NumberReader {
 public:
  NumberReader(tesseract::TessBaseAPI& api, const Prepared& page, RunRecogniser run)
      : api_(api), page_(page), run_(std::move(run)) {}
  // The words are in pixels of the given picture turned upright.
  void check(PageText& text);

 private:
  struct Line {
    std::string text;
    int confidence = 0;
  };
  // The cell without the rules beside it. `gray` is null if the part cannot be cut out.
  PagePart part_of_cell(const Box& cell) const;
  void check_column(const NumberColumn& column);
  void mend_unit(const NumberColumn& column);
  void check_misread_column(const NumberColumn& column);
  void check_misread(const ColumnCell& cell, NumberShape& shape);
  void check_codes(const TextColumn& column);
  void check_line(const TextLine& line);
  void check_cell(const ColumnCell& cell, const NumberShape& shape);
  void check_code(const Word& word, std::size_t prefix);
  std::string read_number(const PagePart& part, const std::vector<Box>& digits, const NumberShape& shape,
                          std::string_view first);
  std::string read_repeated(const Picture& number, std::string_view first);
  Line read_line(const Picture& picture, const std::string& characters);
  void add_doubt(std::string text) { doubts_.push_back(std::move(text)); }
  void report_doubts();
  void set_text(const std::vector<const Word*>& words, const std::string& text);
  Word& mutable_of(const Word* word) {
    return text_->words[static_cast<std::size_t>(word - text_->words.data())];
  }

  tesseract::TessBaseAPI& api_;
  const Prepared& page_;
  RunRecogniser run_;
  PageText* text_ = nullptr;
  std::size_t left_ = 0;  // so many more may be read; then numbers that look misread are reported as doubtful
  std::vector<std::string> doubts_;
};

}  // namespace millrace::engines::host
