#pragma once
#include <vector>

#include "ai/engines/host/scan/part_reader.h"

namespace millrace::engines::host {

// Lines of letters that no word holds: those at the end of a leader, and those much larger than the text.
// `letters`: components of a page; two or more make a line, and one does at the end of a leader.
std::vector<Box> lines_left(const std::vector<Box>& letters, const std::vector<Box>& tall,
                            const std::vector<Leader>& leaders, const std::vector<Word>& words,
                            const std::vector<Box>& figures);

// Reads such lines and unread_lines, each by itself. A recogniser leaves out a digit far from other text, and
// large type beside small type. Adds what is read with confidence, in pixels of the given picture turned
// upright.
void read_leftovers(tesseract::TessBaseAPI& api, const Prepared& page, const std::vector<Box>& figures,
                    const RunRecogniser& run, PageText& text);

// Removes what was read in lines that were pale if it is read badly: print that shows through from the back
// of the sheet, patterns of the paper. `pale`: in pixels of the given picture.
void remove_badly_read(const std::vector<Box>& pale, std::vector<Word>& words);

// Lines of small letters that neither a word nor one of `others` (pictures, tables) holds.
std::vector<Box> unread_lines(const std::vector<Box>& letters, const std::vector<Word>& words,
                              const std::vector<Box>& others);

}  // namespace millrace::engines::host
