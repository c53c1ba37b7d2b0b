#pragma once
#include <optional>
#include <string_view>

#include "schemas/media/ocr.h"

namespace millrace::schemas {

// "0-5,7" → {0, 1, 2, 3, 4, 5, 7}: sorted, without duplicates. nullopt: empty, or not a list of pages and
// ascending ranges within 0 … kDocumentPagesMax − 1.
std::optional<PageList> parse_pages(std::string_view text);
// Sorts the pages and removes duplicates.
void normalise(PageList& pages);

}  // namespace millrace::schemas
