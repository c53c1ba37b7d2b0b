#include "ai/engines/host/audio/library_run.h"

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <string>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace millrace::engines::host {
namespace {

// What the library wrote to stderr, for the operator: on one line, without control characters, cut at both
// ends.
std::string reason_in(const std::string& errors) {
  constexpr std::size_t kBytesMax = 600;
  std::string line;
  for (const char c : errors) {
    const bool is_space = static_cast<unsigned char>(c) <= ' ';
    if (is_space && (line.empty() || line.back() == ' ')) continue;
    line += is_space ? ' ' : (c < 0 || c == 0x7f) ? '?' : c;
  }
  if (line.size() > 2 * kBytesMax)
    line = line.substr(0, kBytesMax) + " … " + line.substr(line.size() - kBytesMax);
  return line;
}

bool mentions(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

base::Error memory_error() {
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  return base::error(base::Code::kOutOfMemory,
                     "the speech model needs more memory than one transcribing process "
                     "may have (" +
                         std::to_string(limit.rlim_cur >> 20) + " MiB): raise stt.memory");
}

}  // namespace

void write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

base::Error with_reason(base::Error error, const CopyRun& run) {
  error.details = reason_in(run.errors);
  return error;
}

bool has_failed(const CopyRun& run) { return mentions(run.errors, {"exception", "Exception"}); }

base::Error why_it_ended(const CopyRun& run, base::Error error) {
  const bool lacked_memory =
      mentions(run.errors, {"bad_alloc", "Failed to allocate memory", "Cannot allocate memory"});
  return with_reason(lacked_memory ? memory_error() : std::move(error), run);
}

}  // namespace millrace::engines::host
