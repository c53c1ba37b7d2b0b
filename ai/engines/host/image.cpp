#include "ai/engines/host/image.h"

#include <leptonica/allheaders.h>

namespace millrace::engines::host {
namespace {

using base::Code;

constexpr int kDpiMin = 50;
constexpr int kDpiMax = 1200;

const l_uint8* data_of(std::string_view bytes) { return reinterpret_cast<const l_uint8*>(bytes.data()); }

base::Error damaged() {
  return base::error(Code::kDocumentDamaged, "the image is damaged or cut off: it cannot be decoded");
}

}  // namespace

base::Result<ImageHead> image_head(std::string_view bytes, const EngineLimits& limits) {
  l_int32 format = 0;
  l_int32 bits = 0;
  l_int32 samples = 0;
  l_int32 colour_map = 0;
  ImageHead head;
  if (pixReadHeaderMem(data_of(bytes), bytes.size(), &format, &head.width, &head.height, &bits, &samples,
                       &colour_map) != 0) {
    return damaged();
  }
  if (head.width <= 0 || head.height <= 0) return damaged();
  if (std::int64_t{head.width} * head.height > limits.image_pixels_max) {
    return base::error(Code::kImageTooLarge, "the image has " + std::to_string(head.width) + " x " +
                                                 std::to_string(head.height) + " pixels; at most " +
                                                 std::to_string(limits.image_pixels_max / 1'000'000) +
                                                 " million are taken: send it smaller");
  }
  return head;
}

base::Result<Picture> decode_image(std::string_view bytes) {
  Picture picture(pixReadMem(data_of(bytes), bytes.size()));
  if (!picture) return damaged();
  const l_int32 dpi = pixGetXRes(picture.get());
  if (dpi < kDpiMin || dpi > kDpiMax) pixSetResolution(picture.get(), 72, 72);
  return picture;
}

}  // namespace millrace::engines::host
