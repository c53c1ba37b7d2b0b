#pragma once
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Renders a page as markdown: columns in reading order, headings, lists, tables, figures, and paragraphs
// whose lines are joined and hyphenated words repaired. Page numbers alone on a line are omitted; text
// stamped across the page comes last. A pure function; linear in the number of words except for the searches
// for columns and tables.
std::string markdown_of(const PageText& page);

// Takes the text that is stamped across a page of a text layer out of it, before its words are put into the
// cells of tables; returns the stamps.
std::vector<std::string> take_stamps(PageText& page);
// Puts stamps at the end of their page.
void append_stamps(const std::vector<std::string>& stamps, std::string& markdown);

}  // namespace millrace::engines
