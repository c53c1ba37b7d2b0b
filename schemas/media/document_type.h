#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace millrace::schemas {

// The document types that OCR accepts. They are detected by content, never by name or declared type.
enum class Media { kPdf, kPng, kJpeg, kWebp };

// The number of bytes that `detect_media` examines: a PDF header may be anywhere in the first 1,024 bytes.
inline constexpr std::size_t kMediaHeadBytes = 1024;

// `head`: the first bytes of the file (all of it if it is shorter than kMediaHeadBytes). nullopt: the type is
// not supported.
std::optional<Media> detect_media(std::string_view head);

std::string_view name(Media media);  // "pdf", "png", "jpeg", "webp"
std::string_view mime(Media media);  // "application/pdf", …
std::optional<Media> media_named(std::string_view name);
std::span<const std::string_view> document_mimes();

}  // namespace millrace::schemas
