#pragma once
#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/host/scan/part_reader.h"

namespace millrace::engines::host {

// Reads what stands in boxes and circles, each by itself: the number of a step, the letter of a key or of an
// answer. Adds it as a word if it is read with confidence; otherwise it ticks its box. In pixels of `text`.
void read_signs(tesseract::TessBaseAPI& api, const Prepared& page, const RunRecogniser& run, PageText& text);

}  // namespace millrace::engines::host
