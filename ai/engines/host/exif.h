#pragma once
#include <string_view>

namespace millrace::engines::host {

// How the picture in a JPEG, PNG or WebP file was held when it was taken: 1 to 8, as EXIF numbers it (tag
// 0x112); 1, upright, where the file does not say, or says what nobody can follow.
int exif_orientation(std::string_view file);

}  // namespace millrace::engines::host
