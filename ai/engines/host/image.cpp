#include "ai/engines/host/image.h"

#include <leptonica/allheaders.h>

#include "ai/engines/host/exif.h"
#include "ai/engines/host/moving_webp.h"

namespace millrace::engines::host {
namespace {

using base::Code;

constexpr int kDpiMin = 50;
constexpr int kDpiMax = 1200;

const l_uint8* data_of(std::string_view bytes) { return reinterpret_cast<const l_uint8*>(bytes.data()); }

base::Error damaged() {
  return base::error(Code::kDocumentDamaged, "the image is damaged or cut off: it cannot be decoded");
}

// A picture that moves counts as its first frame.
class Still {
 public:
  explicit Still(std::string_view bytes) : frame_(first_frame(bytes)), bytes_(bytes) {}
  std::string_view bytes() const { return frame_.empty() ? bytes_ : frame_; }

 private:
  std::string frame_;
  std::string_view bytes_;
};

// Turned and mirrored as EXIF's `orientation` asks, so that it lies as it is shown; empty: no memory.
Picture as_shown(Picture picture, int orientation) {
  constexpr int kQuarterTurns[] = {0, 0, 2, 2, 1, 1, 3, 3};  // of 1 to 8
  const bool mirrored = orientation == 2 || orientation == 4 || orientation == 5 || orientation == 7;
  if (orientation != 1) picture = turned(picture, kQuarterTurns[orientation - 1]);
  if (picture && mirrored) picture = Picture(pixFlipLR(nullptr, picture.get()));
  return picture;
}

}  // namespace

base::Result<ImageHead> image_head(std::string_view bytes, const EngineLimits& limits) {
  l_int32 format = 0;
  l_int32 bits = 0;
  l_int32 samples = 0;
  l_int32 colour_map = 0;
  ImageHead head;
  const Still still(bytes);
  if (pixReadHeaderMem(data_of(still.bytes()), still.bytes().size(), &format, &head.width, &head.height,
                       &bits, &samples, &colour_map) != 0) {
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
  const Still still(bytes);
  Picture picture(pixReadMem(data_of(still.bytes()), still.bytes().size()));
  if (!picture) return damaged();
  picture = as_shown(flattened(std::move(picture)), exif_orientation(bytes));
  if (!picture) return base::error(Code::kImageTooLarge, "the image needs more memory than the engine has");
  const l_int32 dpi = pixGetXRes(picture.get());
  if (dpi < kDpiMin || dpi > kDpiMax) pixSetResolution(picture.get(), 72, 72);
  return picture;
}

}  // namespace millrace::engines::host
