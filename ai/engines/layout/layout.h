#pragma once
#include <string>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// The page as markdown: columns in reading order, headings, lists, tables, figures, paragraphs joined across
// their lines with hyphenation healed; lone page numbers are left out, and what is stamped across the text
// comes last. Pure; linear in the words of a page but for the searches of columns and of tables.
std::string markdown_of(const PageText& page);

}  // namespace millrace::engines
