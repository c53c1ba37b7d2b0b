#pragma once
#include <string_view>

#include "ai/engines/host/pixels.h"
#include "ai/engines/limits.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

struct ImageHead {
  int width = 0;
  int height = 0;
};

// Reads the head alone, before anything is decoded. kDocumentDamaged, kImageTooLarge.
base::Result<ImageHead> image_head(std::string_view bytes, const EngineLimits& limits);

// Decodes the (first) picture, in its colours and as EXIF says that it is shown, on a paper that its ink
// stands out from where it is transparent; its resolution is 72 when the file gives none that can be
// believed. kDocumentDamaged, kImageTooLarge.
base::Result<Picture> decode_image(std::string_view bytes);

}  // namespace millrace::engines::host
