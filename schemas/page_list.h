#pragma once
#include <optional>
#include <string_view>

#include "schemas/media/ocr.h"

namespace millrace::schemas {

// "0-5,7" → {0, 1, 2, 3, 4, 5, 7}: in order, each once. nullopt: not a list of pages and rising ranges within
// 0 … kDocumentPagesMax − 1, or empty.
std::optional<PageList> parse_pages(std::string_view text);
// In order, each once.
void normalise(PageList& pages);

}  // namespace millrace::schemas
