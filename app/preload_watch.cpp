#include "app/preload_watch.h"

#include <cstring>
#include <string_view>

#include <signal.h>
#include <unistd.h>

namespace millrace::app {
namespace {

constexpr unsigned kStartSeconds = 10;
constexpr std::string_view kVariable = "LD_PRELOAD=";

const char* preloaded = nullptr;

void write_error(std::string_view text) {
  const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

// Only calls that are allowed in a signal handler.
void end_start(int) {
  write_error(
      "millrace: a preloaded library prevents the start: it waits for the memory allocator, which may wait "
      "for it. Unset ");
  write_error(preloaded);
  write_error("\n");
  ::_exit(1);
}

// Runs before the constructors of all libraries: allocates nothing.
void begin_preload_watch(int, char**, char** environment) {
  for (char** each = environment; *each != nullptr; ++each) {
    if (std::strncmp(*each, kVariable.data(), kVariable.size()) == 0 && (*each)[kVariable.size()] != '\0')
      preloaded = *each;
  }
  if (preloaded == nullptr) return;
  ::signal(SIGALRM, &end_start);
  ::alarm(kStartSeconds);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const watch)(int, char**, char**) = &begin_preload_watch;

}  // namespace

void end_preload_watch() {
  if (preloaded == nullptr) return;
  ::alarm(0);
  ::signal(SIGALRM, SIG_DFL);
}

}  // namespace millrace::app
