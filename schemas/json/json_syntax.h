#pragma once
#include <string_view>

namespace millrace::schemas {

// True if `text` is an object or a list in JSON, nested as deep as it likes, with numbers of any size, or NaN
// or Infinity in their place, as Python writes them. parse_json may still refuse it. The bytes of strings are
// not checked. Takes no stack for the depth.
bool is_json_of_any_depth(std::string_view text);

}  // namespace millrace::schemas
