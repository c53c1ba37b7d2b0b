#pragma once
#include <optional>

#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines::host {

// The approximate resolution of a page that is recognised; affects only size estimates.
inline constexpr int kAssumedDpi = 160;

// What an iterator of Tesseract is at, in units of which `scale` pixels of the picture are one.
Box box_of(const tesseract::PageIterator& at, tesseract::PageIteratorLevel level, double scale);
// The word with the box of its ink; nullopt: white space, or a speck in the gap of a table that was misread
// as a dash.
std::optional<Word> word_at(const tesseract::ResultIterator& at, double scale);
// Replaces the ink height of a word by the letter height of its row: "no" and "By" get boxes of equal height.
void use_row_height(const tesseract::ResultIterator& at, double scale, Box& box);

}  // namespace millrace::engines::host
