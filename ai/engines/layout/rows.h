#pragma once
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Words that stand on one line of a column, from left to right. A figure is a row of its own.
struct Row {
  Box box;
  float height = 0;  // of its letters: the median of its words
  std::vector<const Word*> words;

  bool figure() const { return words.front()->figure; }
  bool bold() const;         // every word is
  std::string text() const;  // words joined by a space
  // The widest gap between neighbours and where it is: words[at] begins after it. 0 when there is one word.
  float widest_gap(std::size_t& at, std::size_t from = 0) const;
};

using Words = std::vector<const Word*>;

Box bounds(const Words& words);
Box bounds(const std::vector<Row>& rows);  // of their words
// Rows from top to bottom: words whose heights overlap by more than half of the smaller one.
std::vector<Row> make_rows(Words words);
// The middle value, 0 when there is none.
float median(std::vector<float> values);
// Height of the letters by characters, not by words: captions and marks do not outvote running text. At
// least 1.
float body_letters(const Words& words);
// Median height of the words that are no figures.
float letter_height(const Words& words);

}  // namespace millrace::engines
