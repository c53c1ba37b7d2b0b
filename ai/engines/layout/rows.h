#pragma once
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Words on one line of a column, from left to right. A figure is a separate row.
struct Row {
  Box box;
  float height = 0;  // of its letters: the median over its words
  std::vector<const Word*> words;
  std::vector<const Word*> leaders{};  // the dots between its words, which `words` lacks

  bool figure() const { return words.front()->figure; }
  bool bold() const;         // every word is bold
  std::string text() const;  // words joined by a space
  // The widest gap between neighbours; words[at] begins after it. 0 when there is only one word.
  float widest_gap(std::size_t& at, std::size_t from = 0) const;
};

using Words = std::vector<const Word*>;

Box bounds(const Words& words);
Box bounds(const std::vector<Row>& rows);  // bounds of their words
// Builds rows from top to bottom. Words share a row when their heights overlap by more than half of the
// smaller one.
std::vector<Row> make_rows(Words words);
// The middle value, 0 when there is none.
float median(std::vector<float> values);
// Height of body letters, weighted by characters instead of words, so that captions and marks do not outweigh
// running text. At least 1.
float body_letters(const Words& words);
// Median height of the words that are not figures.
float letter_height(const Words& words);

// Distance from the top of the previous row. REQUIRES: i > 0.
float step_to(const std::vector<Row>& rows, std::size_t i);

}  // namespace millrace::engines
