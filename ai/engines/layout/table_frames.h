#pragma once
#include <vector>

#include "ai/engines/layout/rows.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Lengths are in the units of the page; `letters` is its letter height.

// Words of a line without wide gaps.
struct Chunk {
  float x0 = 0, x1 = 0;
  Row row;  // the words
};

struct TextLine {
  float y = 0;  // the middle
  float top = 0, bottom = 0;
  std::vector<Chunk> chunks;
};

inline constexpr float kChunkGap = 0.6F;  // letter heights: between two texts of a line of a table

// Lines from top to bottom; words further apart than `gap` belong to different chunks.
std::vector<TextLine> lines_of(Words words, float gap);

// Rules of one extent, from top to bottom, with lines of a table between each two.
struct TableFrame {
  float x0 = 0, x1 = 0;
  std::vector<float> ys;
};

inline constexpr float kProseWidth = 0.8F;  // of a table: a wider line is prose

std::vector<TableFrame> table_frames(std::vector<Box> rules, const PageText& page, float letters);

// The words of a frame between two heights.
Words words_between(const PageText& page, const TableFrame& frame, float top, float bottom, float letters);

}  // namespace millrace::engines
