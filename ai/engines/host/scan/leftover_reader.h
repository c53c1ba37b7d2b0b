#pragma once
#include <vector>

#include "ai/engines/host/scan/part_reader.h"

namespace millrace::engines::host {

// Lines of letters that no word holds: those at the end of a leader, and those much larger than the text.
// `letters`: components of a page; two or more make a line, and one does at the end of a leader.
std::vector<Box> lines_left(const std::vector<Box>& letters, const std::vector<Box>& tall,
                            const std::vector<Leader>& leaders, const std::vector<Word>& words,
                            const std::vector<Box>& figures);

// Reads such lines, each by itself. A recogniser leaves out a digit far from other text, and large type
// beside small type. Adds what is read with confidence, in pixels of the given picture turned upright.
void read_leftovers(tesseract::TessBaseAPI& api, const Prepared& page, const std::vector<Box>& figures,
                    const RunRecogniser& run, PageText& text);

}  // namespace millrace::engines::host
