#pragma once
#include <vector>

#include "ai/engines/host/scan/scan_reader.h"

namespace millrace::engines::host {

// Finds scans on pages that also have a text layer: a scanned sheet placed within margins, above a line with
// the sender. The text layer of such a page is not its content.

// Whether the words leave so much of the page's height free that a picture may have text there. Where the
// text layer lies over its scan, they do not.
bool has_free_area(const PageText& text);

// Whether something beside the words of a page looks like a scan. `small`: the rendered page; `figures`: the
// result of find_figures for it.
bool hides_scan(const Picture& small, const PageText& text, const std::vector<Box>& figures);

// Paints over the words, so that they are not recognised a second time.
void wipe_words(const Picture& gray, const PageText& text);

// Minimum for a recognition result to count. A photograph can have less by chance.
struct Enough {
  int letters = 40;  // counted as in Prepared
  int confidence = 60;
  std::size_t words = 8;
};

// Adds recognised words to the words of a page and drops the figures that were scans: paper under prose.
// Results below the minimum, and the labels of a chart, remain figures. `reading` is of the page rendered at
// any size; `small` is that page. False: the result is below the minimum.
bool add_reading(Reading reading, const Picture& small, const Enough& enough, PageText& text,
                 std::vector<Box>& figures);

}  // namespace millrace::engines::host
