// millrace-engine: the local engines of Millrace, in a process of their own that can be locked in and killed.

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "ai/engines/host/once.h"
#include "ai/engines/host/serve.h"

namespace millrace::engines::host {
namespace {

constexpr std::string_view kHelp = R"(millrace-engine: reads documents (PDF, PNG, JPEG, WebP) into markdown

  millrace-engine --once FILE [--pages A-B] [--markdown | --json] [--image-data]
      Reads FILE and prints its pages: as markdown (default), or as one JSON object per line.
      --pages A-B     only these pages, counted from 0; a single number is one page
      --image-data    with --json: pictures as data URIs
      Exit code: 0 done, 1 the document cannot be read, 2 bad usage, 3 some page failed.

  millrace-engine --serve --socket-fd N [--seccomp-fd N]
      How the gateway starts it. Not for people.

  millrace-engine --help | --version
)";

struct Arguments {
  bool serve = false;
  bool help = false;
  bool version = false;
  int socket_fd = -1;
  int seccomp_fd = -1;
  OnceOptions once;
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool read_pages(std::string_view text, std::vector<int>& pages) {
  const auto dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last > 1'000'000) return false;
  for (int page = *first; page <= *last; ++page) pages.push_back(page);
  return true;
}

// An option with a value. False: the value does not do.
bool read_option(std::string_view name, std::string_view value, Arguments& arguments) {
  if (name == "--pages") return read_pages(value, arguments.once.pages);
  if (name == "--once") {
    arguments.once.file = value;
    return !value.empty();
  }
  const auto fd = number(value);
  if (!fd) return false;
  (name == "--socket-fd" ? arguments.socket_fd : arguments.seccomp_fd) = *fd;
  return true;
}

std::optional<Arguments> read_arguments(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const bool valued =
        word == "--once" || word == "--pages" || word == "--socket-fd" || word == "--seccomp-fd";
    if (valued) {
      if (++i >= count || !read_option(word, words[i], arguments)) return std::nullopt;
    } else if (word == "--serve") {
      arguments.serve = true;
    } else if (word == "--json") {
      arguments.once.json = true;
    } else if (word == "--image-data") {
      arguments.once.image_data = true;
    } else if (word == "--help" || word == "-h") {
      arguments.help = true;
    } else if (word == "--version") {
      arguments.version = true;
    } else if (word != "--markdown") {
      return std::nullopt;
    }
  }
  return arguments;
}

// Loads the filter that the gateway built; where there are no namespaces nobody else can do it for us.
bool load_filter(int fd) {
  std::string bytes;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::read(fd, buffer, sizeof buffer)) > 0)
    bytes.append(buffer, static_cast<std::size_t>(count));
  ::close(fd);
  if (bytes.empty() || bytes.size() % sizeof(sock_filter) != 0) return false;
  std::vector<sock_filter> instructions(bytes.size() / sizeof(sock_filter));
  std::memcpy(instructions.data(), bytes.data(), bytes.size());
  const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// With more than one OpenMP thread a page costs five times the CPU. The library looks at its environment
// while it is loaded, which is before main: so once more, from the start.
void use_one_thread(char** words) {
  const char* limit = std::getenv("OMP_THREAD_LIMIT");
  if (limit != nullptr && std::string_view(limit) == "1") return;
  ::setenv("OMP_THREAD_LIMIT", "1", 1);
  ::execv("/proc/self/exe", words);
}

int run(const Arguments& arguments) {
  if (arguments.help) {
    std::cout << kHelp;
    return 0;
  }
  if (arguments.version) {
    std::cout << "millrace-engine " MILLRACE_VERSION "\n";
    return 0;
  }
  if (!arguments.serve && !arguments.once.file.empty()) return once(arguments.once);
  if (!arguments.serve || arguments.socket_fd < 0) {
    std::cerr << kHelp;
    return 2;
  }
  if (arguments.seccomp_fd >= 0 && !load_filter(arguments.seccomp_fd)) {
    std::cerr << "millrace-engine: the seccomp filter cannot be loaded\n";
    return 1;
  }
  ::prctl(PR_SET_NAME, "millrace-engine");  // it was started by descriptor and has no name of its own
  return serve(arguments.socket_fd);
}

}  // namespace
}  // namespace millrace::engines::host

int main(int count, char** words) {
  millrace::engines::host::use_one_thread(words);
  std::signal(SIGPIPE, SIG_IGN);
  const auto arguments = millrace::engines::host::read_arguments(count, words);
  if (!arguments) {
    std::cerr << millrace::engines::host::kHelp;
    return 2;
  }
  try {
    return millrace::engines::host::run(*arguments);
  } catch (const std::exception& problem) {
    std::cerr << "millrace-engine: " << problem.what() << '\n';
    return 1;
  }
}
