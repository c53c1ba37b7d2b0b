#pragma once
#include <memory>
#include <optional>
#include <string>

#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines::host {

// The approximate resolution of a page that is recognised; affects only size estimates.
inline constexpr int kAssumedDpi = 160;

// An iterator at the first word of what was recognised last; null: there is none. A page with a word from
// right to left is walked in reading order (ResultIterator), in which each step walks from the beginning of
// the page. Other pages are walked from left to right, so that the time grows with the words only.
std::unique_ptr<tesseract::LTRResultIterator> first_word(tesseract::TessBaseAPI& api);
// Another iterator at the same place, of the same kind.
std::unique_ptr<tesseract::LTRResultIterator> copy_of(const tesseract::LTRResultIterator& at);
// Empty: there is none.
std::string text_at(const tesseract::LTRResultIterator& at, tesseract::PageIteratorLevel level);

// What an iterator of Tesseract is at, in units of which `scale` pixels of the picture are one.
Box box_of(const tesseract::PageIterator& at, tesseract::PageIteratorLevel level, double scale);
// The word with the box of its ink; nullopt: white space, or a speck in the gap of a table that was misread
// as a dash.
std::optional<Word> word_at(const tesseract::LTRResultIterator& at, double scale);
// Makes the first letter of a word of capitals a capital if it is as tall as they are: "SD", not "sD".
void use_capital_height(const tesseract::LTRResultIterator& at, Word& word);
// Replaces the ink height of a word by the letter height of its row: "no" and "By" get boxes of equal height.
void use_row_height(const tesseract::LTRResultIterator& at, double scale, Box& box);
// Gives words that are about as high as the body text exactly its height. The heights of rows are estimates,
// and the distances of rows are measured between their tops. The baselines stay.
void even_out_heights(std::vector<Word>& words);

}  // namespace millrace::engines::host
