#pragma once
#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/ocr/pages.h"

namespace millrace::engines::host {

// Signs that the recogniser's language does not have are known by their shape: a plus or an angle above a bar
// is "±", "≤" or "≥", an open "Q" is "Ω", and a "p" without a bowl is "µ". Only words that may hold one are
// looked at. In pixels of the given picture turned upright.
void mend_signs(const Prepared& page, PageText& text);

}  // namespace millrace::engines::host
