#pragma once
#include <cstddef>

#include "ai/engines/host/scan/part_reader.h"

namespace millrace::engines::host {

// Reads the fields with a box for each character as words. In pixels of the given picture turned upright.
// Returns how many fields it has read.
std::ptrdiff_t read_combs(tesseract::TessBaseAPI& api, const Prepared& page, const RunRecogniser& run,
                          PageText& text);

}  // namespace millrace::engines::host
