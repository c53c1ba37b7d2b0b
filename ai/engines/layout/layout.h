#pragma once
#include <string>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// Renders a page as markdown: columns in reading order, headings, lists, tables, figures, and paragraphs
// whose lines are joined and hyphenated words repaired. Page numbers alone on a line are omitted; text
// stamped across the page comes last. A pure function; linear in the number of words except for the searches
// for columns and tables.
std::string markdown_of(const PageText& page);

}  // namespace millrace::engines
