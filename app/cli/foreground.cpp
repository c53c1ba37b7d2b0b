#include "app/cli/foreground.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli/exec_exit.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace millrace::cli {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";

sigset_t watched() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int signal : kPassedOn) sigaddset(&signals, signal);
  return signals;
}

// Default signals and an empty mask, as a program expects them.
struct Attributes {
  Attributes() {
    sigset_t none, all = watched();
    sigemptyset(&none);
    sigaddset(&all, SIGPIPE);
    ::posix_spawnattr_init(&value);
    ::posix_spawnattr_setsigmask(&value, &none);
    ::posix_spawnattr_setsigdefault(&value, &all);
    ::posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t value;
};

// What a key of the terminal sends has reached the program as well; its end reaches the first of its session
// alone.
bool has_reached_all(const signalfd_siginfo& signal) {
  const bool is_key = signal.ssi_signo == SIGINT || signal.ssi_signo == SIGQUIT;
  return is_key && signal.ssi_code == SI_KERNEL;
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::string_view rest = path != nullptr ? path : kUsualPath;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, colon)) / name;
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    std::error_code unknown;
    const bool is_file = std::filesystem::is_regular_file(candidate, unknown);
    if (is_file && ::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return std::nullopt;
}

Foreground::Foreground() {
  const sigset_t signals = watched();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  signals_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

Foreground::~Foreground() {
  ::close(signals_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

base::Result<int> Foreground::run(const std::vector<std::string>& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  words.push_back(nullptr);
  const Attributes attributes;
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, words[0], nullptr, &attributes.value, words.data(), environ);
  if (failed != 0) {
    return base::error(base::Code::kInternal,
                       argv[0] + " cannot be started: " + std::strerror(failed));  // NOLINT
  }
  return wait_for(pid);
}

int Foreground::wait_for(int pid) {
  for (int status = 0;;) {
    const pid_t changed = ::waitpid(pid, &status, WNOHANG | WUNTRACED);
    if (changed < 0 && errno != EINTR) return kSignalBase;
    if (changed == pid && WIFEXITED(status)) return WEXITSTATUS(status);
    if (changed == pid && WIFSIGNALED(status)) return kSignalBase + WTERMSIG(status);
    if (changed == pid && WIFSTOPPED(status)) {  // by itself: ssh's ~^Z
      ::raise(SIGSTOP);
      ::kill(pid, SIGCONT);
    }
    pollfd wanted{signals_, POLLIN, 0};
    ::poll(&wanted, 1, -1);
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number != SIGCHLD && !has_reached_all(signal)) ::kill(pid, number);
    }
  }
}

}  // namespace millrace::cli
