#pragma once
#include <string>
#include <string_view>

#include "ai/engines/host/pictures/pixels.h"
#include "ai/engines/limits.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// How the picture in a JPEG, PNG or WebP file was held when it was taken: 1 to 8, as EXIF numbers it (tag
// 0x112); 1, upright, where the file does not say, or says what nobody can follow.
int exif_orientation(std::string_view file);

// The first frame of an animated WebP file as a WebP file of its own, which the decoder reads: it knows still
// pictures only. Empty: `file` is no animated WebP, or is cut off before its first frame ends.
std::string first_frame(std::string_view file);

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
