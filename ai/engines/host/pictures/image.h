#pragma once
#include <string>
#include <string_view>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/limits.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// EXIF orientation (tag 0x112) of a JPEG, PNG or WebP file: 1 to 8; 1 (upright) when the file has none or an
// invalid one.
int exif_orientation(std::string_view file);

// The first frame of an animated WebP file as a still WebP file, because the decoder reads only still
// pictures. Empty: `file` is no animated WebP, or is truncated within its first frame.
std::string first_frame(std::string_view file);

struct ImageHead {
  int width = 0;
  int height = 0;
};

// Reads only the header, before decoding. kDocumentDamaged, kImageTooLarge.
base::Result<ImageHead> image_head(std::string_view bytes, const EngineLimits& limits);

// Decodes the (first) picture in colour and applies its EXIF orientation. Transparent areas get a background
// that contrasts with the ink. The resolution is 72 when the file has no plausible one. kDocumentDamaged,
// kImageTooLarge.
base::Result<Picture> decode_image(std::string_view bytes);

}  // namespace millrace::engines::host
