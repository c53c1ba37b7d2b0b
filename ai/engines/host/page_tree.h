#pragma once
#include <string_view>

namespace millrace::engines::host {

// Whether the page tree of a PDF holds more than `count` pages: then `count`, which is what the file says of
// itself and what poppler goes by, is too small, and pages would be lost without a word. False as well where
// the tree cannot be read without repairing the file: any doubt leaves poppler's word.
bool holds_more_pages(std::string_view pdf, int count);

}  // namespace millrace::engines::host
