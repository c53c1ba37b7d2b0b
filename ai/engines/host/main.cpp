// millrace-engine: the local engines of Millrace, in a separate process that can be jailed and killed.

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include <sys/prctl.h>
#include <unistd.h>

#include "ai/engines/host/once.h"
#include "ai/engines/host/once_speech.h"
#include "ai/engines/host/serve.h"
#include "platform/process/confine_process.h"
#include "schemas/media/local_transcription.h"

namespace millrace::engines::host {
namespace {

constexpr std::string_view kHelp =
    R"(millrace-engine: converts documents (PDF, PNG, JPEG, WebP) to markdown, transcribes
English speech (flac, mp3, mp4, mpeg, m4a, ogg, wav, webm), and synthesises speech

  millrace-engine --once FILE [--pages A-B] [--languages L] [--markdown | --json] [--image-data]
      Reads FILE and prints its pages: as markdown (default), or as one JSON object per line.
      --pages A-B     only these pages, counted from 0; a single number is one page
      --languages L   of scanned text, in Tesseract's syntax: eng (default), eng+deu
      --image-data    with --json: pictures as data URIs
  millrace-engine --once FILE [--model NAME] [--json]
      FILE is a recording: prints its transcript, one line per segment.
      --model NAME    millrace/moonshine-en (default, if installed) or millrace/sphinx-en
      --json          one object, with the times of segments and words
      Exit code: 0 done, 1 the file cannot be read, 2 bad usage, 3 a page or piece failed.

  millrace-engine --speak TEXT -o FILE [--voice NAME] [--format F] [--speed S]
      Synthesises TEXT and writes the audio to FILE.
      --voice NAME    slt (default), rms, awb or kal16, a voice name of the gateway, or the
                      folder of an English Piper voice: an absolute path
      --format F      mp3 (default), opus, aac, flac, wav or pcm
      --speed S       0.25 to 4; 1 by default

  millrace-engine --check-languages L
      Checks that the data for these languages is installed. Exit code: 0 yes, 1 no; prints what to install.

  millrace-engine --serve --socket-fd N [--languages L] [--rules-fd N] [--seccomp-fd N]
      Used by the gateway only.

  millrace-engine --help | --version
)";

struct Arguments {
  bool serve = false;
  bool help = false;
  bool version = false;
  bool check_languages = false;
  int socket_fd = -1;
  base::Fd rules;
  base::Fd filter;
  OnceOptions once;
  SpeechTask speech{.text = {}, .voice = "slt"};
  std::string output;
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

// Parses an option with a value. False: the value is invalid.
bool read_option(std::string_view name, std::string_view value, Arguments& arguments) {
  if (name == "-o") {
    arguments.output = value;
    return !value.empty();
  }
  if (const auto read = read_speech_option(name, value, arguments.speech)) return *read;
  if (name == "--model") {
    arguments.once.model = value;
    return value == schemas::kMoonshineModel || value == schemas::kSphinxModel;
  }
  if (name == "--pages") return read_pages(value, arguments.once.pages);
  if (name == "--languages" || name == "--check-languages") {
    arguments.check_languages = name == "--check-languages";
    arguments.once.languages = value;
    return !value.empty();
  }
  if (name == "--once") {
    arguments.once.file = value;
    return !value.empty();
  }
  const auto fd = number(value);
  if (!fd) return false;
  if (name == "--socket-fd") arguments.socket_fd = *fd;
  if (name == "--rules-fd") arguments.rules.reset(*fd);
  if (name == "--seccomp-fd") arguments.filter.reset(*fd);
  return true;
}

std::optional<Arguments> read_arguments(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const bool valued = word == "--once" || word == "--pages" || word == "--model" || word == "--socket-fd" ||
                        word == "--rules-fd" || word == "--seccomp-fd" || word == "--speak" ||
                        word == "--voice" || word == "--format" || word == "--speed" || word == "-o" ||
                        word == "--languages" || word == "--check-languages";
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

// With more than one OpenMP thread a page costs five times the CPU. The library reads its environment while
// it is loaded, before main runs; so the program executes itself again with the variable set.
void use_one_thread(char** words) {
  const char* limit = std::getenv("OMP_THREAD_LIMIT");
  if (limit != nullptr && std::string_view(limit) == "1") return;
  ::setenv("OMP_THREAD_LIMIT", "1", 1);
  ::execv("/proc/self/exe", words);
}

int run(Arguments arguments) {
  if (arguments.help) {
    std::cout << kHelp;
    return 0;
  }
  if (arguments.version) {
    std::cout << "millrace-engine " MILLRACE_VERSION "\n";
    return 0;
  }
  if (arguments.check_languages) return check_languages(arguments.once.languages);
  if (!arguments.serve && !arguments.once.file.empty()) return once(arguments.once);
  if (!arguments.serve && !arguments.speech.text.empty() && !arguments.output.empty()) {
    return speak_once(arguments.speech, arguments.output);
  }
  if (!arguments.serve || arguments.socket_fd < 0) {
    std::cerr << kHelp;
    return 2;
  }
  process::offer_to_oom_killer();  // before the rules, which hide /proc
  if (arguments.rules || arguments.filter) {
    const auto locked = process::confine_process(std::move(arguments.rules), std::move(arguments.filter));
    if (!locked) {
      std::cerr << "millrace-engine: " << locked.error().message << '\n';
      return 1;
    }
  }
  ::prctl(PR_SET_NAME, "millrace-engine");  // it was started by descriptor, which gives it no useful name
  return serve(arguments.socket_fd, arguments.once.languages);
}

}  // namespace
}  // namespace millrace::engines::host

int main(int count, char** words) {
  millrace::engines::host::use_one_thread(words);
  std::signal(SIGPIPE, SIG_IGN);
  auto arguments = millrace::engines::host::read_arguments(count, words);
  if (!arguments) {
    std::cerr << millrace::engines::host::kHelp;
    return 2;
  }
  try {
    return millrace::engines::host::run(std::move(*arguments));
  } catch (const std::exception& problem) {
    std::cerr << "millrace-engine: " << problem.what() << '\n';
    return 1;
  }
}
