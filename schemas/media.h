#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace millrace::schemas {

// The documents that OCR takes. Told from their bytes, never from a name or a declared type.
enum class Media { kPdf, kPng, kJpeg, kWebp };

// How much of a file's beginning `detect_media` looks at: a PDF header may stand anywhere in its first 1,024
// bytes.
inline constexpr std::size_t kMediaHeadBytes = 1024;

// `head`: the first bytes of the file (all of it if it is shorter than kMediaHeadBytes). nullopt: none of
// ours.
std::optional<Media> detect_media(std::string_view head);

std::string_view name(Media media);  // "pdf", "png", "jpeg", "webp"
std::string_view mime(Media media);  // "application/pdf", …
std::optional<Media> media_named(std::string_view name);

}  // namespace millrace::schemas
