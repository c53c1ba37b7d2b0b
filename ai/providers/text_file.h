#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace millrace::providers {

// The text of a file as UTF-8, without a byte order mark. The mark decides, then `charset` (lower-case;
// empty: unknown): UTF-8, UTF-16, or Latin-1, which is read as Windows-1252, as browsers do. nullopt: the
// bytes are not text in this charset, or the charset is not one of these.
std::optional<std::string> utf8_text(std::string_view bytes, std::string_view charset);

}  // namespace millrace::providers
