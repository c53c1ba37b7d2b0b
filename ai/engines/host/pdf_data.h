#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "ai/engines/host/pdf_syntax.h"

namespace millrace::engines::host {

// The bytes of a stream with this dictionary, which are `raw` in the file: as they are or inflated, rows by
// PNG's "none" and "up" undone. nullopt: packed in another way, damaged, or above `bytes_max`.
std::optional<std::string> unpacked(const PdfDict& dict, std::string_view raw, std::size_t bytes_max);

}  // namespace millrace::engines::host
