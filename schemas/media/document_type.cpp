#include "schemas/media/document_type.h"

#include <array>

namespace millrace::schemas {
namespace {

struct Row {
  Media media;
  std::string_view name;
  std::string_view mime;
};

constexpr std::array<Row, 4> kRows{{
    {Media::kPdf, "pdf", "application/pdf"},
    {Media::kPng, "png", "image/png"},
    {Media::kJpeg, "jpeg", "image/jpeg"},
    {Media::kWebp, "webp", "image/webp"},
}};

const Row& row(Media media) { return kRows[static_cast<std::size_t>(media)]; }

bool is_webp(std::string_view head) {
  return head.size() >= 16 && head.substr(0, 4) == "RIFF" && head.substr(8, 7) == "WEBPVP8";
}

}  // namespace

std::optional<Media> detect_media(std::string_view head) {
  using namespace std::string_view_literals;
  head = head.substr(0, kMediaHeadBytes);
  if (head.starts_with("\x89PNG\r\n\x1a\n"sv)) return Media::kPng;
  if (head.starts_with("\xff\xd8\xff"sv)) return Media::kJpeg;
  if (is_webp(head)) return Media::kWebp;
  if (head.find("%PDF-") != std::string_view::npos) return Media::kPdf;
  return std::nullopt;
}

std::string_view name(Media media) { return row(media).name; }
std::string_view mime(Media media) { return row(media).mime; }

std::optional<Media> media_named(std::string_view name) {
  for (const Row& each : kRows) {
    if (each.name == name) return each.media;
  }
  return std::nullopt;
}

std::span<const std::string_view> document_mimes() {
  static constexpr std::array kMimes{kRows[0].mime, kRows[1].mime, kRows[2].mime, kRows[3].mime};
  return kMimes;
}

}  // namespace millrace::schemas
