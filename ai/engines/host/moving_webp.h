#pragma once
#include <string>
#include <string_view>

namespace millrace::engines::host {

// The first frame of an animated WebP file as a WebP file of its own, which the decoder reads: it knows still
// pictures only. Empty: `file` is no animated WebP, or is cut off before its first frame ends.
std::string first_frame(std::string_view file);

}  // namespace millrace::engines::host
