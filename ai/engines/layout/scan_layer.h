#pragma once
#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A scan may have a text layer of few words: a stamp, a header, a caption. Adds them to the recognised words;
// each takes the place of what was read there. What was read with confidence stays where the layer has the
// same word with digits among its letters, and where the layer is the work of a poor recogniser: many of its
// words differ, and its letters are less like those of a language. A layer most of which contradicts what was
// read with confidence is hidden text of something else: it is placed below the page. `quarter_turns`: by
// which the recognised page was turned, clockwise. The units of `layer` are scaled to those of `read`.
void keep_layer(const PageText& layer, int quarter_turns, PageText& read);

}  // namespace millrace::engines
