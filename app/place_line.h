#pragma once
#include <string_view>

namespace millrace::app {

// The line of `file` that a place or a note of it begins with ("millrace.yaml:12"; 0: the file as a whole);
// what stands elsewhere has the highest number there is, and so comes after all of them.
int place_line(std::string_view text, std::string_view file);

}  // namespace millrace::app
