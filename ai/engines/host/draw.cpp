#include <algorithm>
#include <cmath>

#include "ai/engines/host/image.h"
#include "ai/engines/host/reader.h"

namespace millrace::engines::host {
namespace {

using base::Code;

// The resolution at which the page's long side has about `side` pixels.
int small_dpi(const PdfPage& size, int side) {
  const float inches = std::max(size.width, size.height) / 72;
  const float dpi = inches > 0 ? static_cast<float>(side) / inches : 1;
  return std::clamp(static_cast<int>(std::ceil(dpi)), 1, Pdf::kDpi);
}

base::Error not_drawn() { return base::error(Code::kPageFailed, "the page cannot be drawn"); }

}  // namespace

base::Result<std::string> DocumentReader::draw(int page, int side) {
  if (page < 0 || side < 1) return not_drawn();
  auto count = look_at({page, page});
  if (!count) return std::move(count.error());
  if (page >= *count) {
    return base::error(Code::kInvalidField, "page " + std::to_string(page) + " is not in the document",
                       "pages");
  }
  auto picture = pdf_ ? drawn_small(page, side) : decode_image(bytes_);
  if (!picture) return std::move(picture.error());
  std::string jpeg = small_jpeg(*picture, side);
  if (jpeg.empty()) return not_drawn();
  return jpeg;
}

base::Result<Picture> DocumentReader::drawn_small(int page, int side) {
  base::Result<Picture> drawn = not_drawn();
  const Pdf::Drawing drawing{.dpi = small_dpi(pdf_->size_of(page), side), .colour = true};
  pdf_->raster(
      {page, page}, drawing, [](int) {},
      [&drawn](int, base::Result<Picture> picture) { drawn = std::move(picture); });
  return drawn;
}

}  // namespace millrace::engines::host
