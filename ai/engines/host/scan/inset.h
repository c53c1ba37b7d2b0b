#pragma once
#include <vector>

#include "ai/engines/host/scan/scan_reader.h"

namespace millrace::engines::host {

// Scans on pages that have text of their own: a sheet that was placed within margins, above a line that says
// who sent it. The text of such a page is not what it says.

// Whether the words leave so much of the page's height free that a picture's own text may stand there. Where
// the text of a scan lies over its picture, as a text layer does, they do not.
bool leaves_room(const PageText& text);

// Whether something beside the words of a page looks like a scan. `small`: the page, drawn; `figures`: what
// find_figures finds on it.
bool hides_scan(const Picture& small, const PageText& text, const std::vector<Box>& figures);

// Paints over the words, so that they are not read a second time.
void wipe_words(const Picture& gray, const PageText& text);

// What has to be there before a reading counts: less is what a photograph has by chance.
struct Enough {
  int letters = 40;  // as Prepared counts them
  int confidence = 60;
  std::size_t words = 8;
};

// Puts what was read beside the words of a page among them, and drops the figures that were scans: paper
// under prose. What is not enough, and the labels of a chart, stay figures. `reading` is of the page drawn at
// any size, `small` that page.
void add_reading(Reading reading, const Picture& small, const Enough& enough, PageText& text,
                 std::vector<Box>& figures);

}  // namespace millrace::engines::host
