#include "app/place_line.h"

#include <charconv>
#include <limits>

namespace millrace::app {

int place_line(std::string_view text, std::string_view file) {
  if (file.empty() || !text.starts_with(file)) return std::numeric_limits<int>::max();
  text.remove_prefix(file.size());
  int line = 0;
  if (text.starts_with(':')) std::from_chars(text.data() + 1, text.data() + text.size(), line);
  return line;
}

}  // namespace millrace::app
