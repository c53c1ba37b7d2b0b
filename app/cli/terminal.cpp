#include "app/cli/terminal.h"

#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace millrace::cli {

bool moves_cursor(int fd) {
  const char* const kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  const std::string_view name = kind == nullptr ? "" : kind;
  return !name.empty() && name != "dumb" && ::isatty(fd) == 1;
}

}  // namespace millrace::cli
