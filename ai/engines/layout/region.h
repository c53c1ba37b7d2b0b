#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/layout/rows.h"
#include "ai/engines/layout/tables.h"

namespace millrace::engines {

// One block of markdown.
struct Block {
  enum class Kind { kHeading, kParagraph, kItem, kTable, kFigure };
  Kind kind = Kind::kParagraph;
  int level = 0;       // of a heading: 1 … 6; of an item: its depth from 0
  std::string marker;  // of an item: "-" or its number as "3."
  std::string text;    // kLineBreak separates the lines of a paragraph that is not running text
};

inline constexpr char kLineBreak = '\n';

// Sizes that apply to the whole page.
struct PageMetrics {
  int index = 0;
  float height = 0;
  bool recognised = false;
  float letters = 0;  // height of body letters
  float pitch = 0;    // distance between rows in running text
  std::size_t rows = 0;
};

// Converts the rows of one column from top to bottom into blocks.
class RegionReader {
 public:
  // `right_edge`: the rightmost position that its rows could reach.
  RegionReader(const PageMetrics& metrics, std::vector<Row> rows, float right_edge, bool first_on_page);
  std::vector<Block> read();

 private:
  // In letter heights or row pitches.
  static constexpr float kParagraphGap = 1.3F;
  static constexpr float kIndent = 1.0F;
  static constexpr float kSamePlace =
      0.5F;  // list numbers whose left or right edges are this close belong to one list

  const Row& row(std::size_t i) const { return rows_[i]; }
  // Distance between the top of the previous row and the top of this one, in pitches of this row's letter
  // size; large for the first row.
  float gap_above(std::size_t i) const;
  float size_ratio(std::size_t i) const { return rows_[i].height / metrics_.letters; }
  float fill(std::size_t i) const { return rows_[i].box.width() / box_.width(); }
  bool ends_short(std::size_t i) const;
  bool indented(std::size_t i) const;

  bool add_to_blocks(std::size_t first, std::vector<std::string>& texts) const;
  std::optional<std::vector<std::string>> blocks_at(std::size_t i) const;
  std::size_t staggered_blocks_end(std::size_t first) const;
  void take_staggered_blocks(std::size_t end);
  bool leads_to_end(std::size_t i) const;
  std::size_t entry_rows(std::size_t i) const;
  bool begins_entries(std::size_t i) const;
  bool lone_page_number(std::size_t i) const;
  bool in_column(std::size_t i) const;
  bool heading(std::size_t i) const;
  bool heading_shape(std::size_t i) const;
  bool is_section_number(std::size_t i) const;
  int number_depth(std::size_t i) const;
  bool numbered_heading(std::size_t i) const;
  bool title_by_place(std::size_t i) const;
  bool heading_by_place(std::size_t i) const;
  int heading_level(std::size_t i) const;
  bool heading_goes_on(std::size_t i) const;
  bool begins_with_asterisk(std::size_t i) const;
  bool is_within_list(std::size_t i, float marker_x) const;
  bool is_note_mark(std::size_t i) const;
  std::optional<std::string> item_marker(std::size_t i) const;
  bool marked_like_neighbour(std::size_t i) const;
  bool counted_with_neighbour(std::size_t i) const;
  bool item_goes_on(std::size_t i, float marker_x) const;
  bool begins_speech(std::size_t i) const;
  bool paragraph_ends_before(std::size_t i) const;
  bool breaks_before(std::size_t i) const;
  bool is_address(std::size_t first, std::size_t end) const;
  bool keeps_lines(std::size_t first, std::size_t end) const;

  void take_blocks(std::vector<std::string> texts);
  void take_table(Table table);
  void take_heading();
  void take_entries();
  void take_item(const std::string& marker);
  void take_paragraph();
  int item_depth(float marker_x);

  const PageMetrics& metrics_;
  std::vector<Row> rows_;
  Box box_;
  float right_edge_;
  bool first_on_page_;
  bool has_asterisk_ = false;  // at the end of a word: notes begin with one
  std::size_t next_ = 0;
  std::vector<float> list_indents_;
  std::vector<Block> blocks_;
};

}  // namespace millrace::engines
