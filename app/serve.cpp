#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/cli/program.h"
#include "app/commands.h"
#include "app/gateway.h"
#include "app/settings.h"
#include "platform/base/log.h"

namespace millrace::app {
namespace {

// Blocked before any thread is made, so that every thread inherits the mask; main alone takes them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

void raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

base::Result<Roles> roles_of(const ServeRequest& request) {
  Roles roles;
  roles.api = request.role != "worker";
  if (request.role == "api") return roles;
  if (request.kinds.empty()) {
    roles.kinds.assign(schemas::kKinds.begin(), schemas::kKinds.end());
    return roles;
  }
  std::string_view rest = request.kinds;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const auto kind = schemas::kind_named(name);
    if (!kind)
      return base::error(base::Code::kInvalidField,
                         "--kinds: no kind \"" + std::string(name) + "\"; there are: ocr, exec");
    roles.kinds.push_back(*kind);
  }
  return roles;
}

// One that a killed process left would say "ready" before this one is.
bool remove_ready_file(const std::string& path) {
  return path.empty() || ::unlink(path.c_str()) == 0 || errno == ENOENT;
}

bool write_ready_file(const std::string& path, const std::string& url) {
  const std::string fresh = path + ".new";
  {
    std::ofstream out(fresh, std::ios::trunc);
    out << "{\"url\": \"" << url << "\", \"pid\": " << ::getpid() << "}\n";
    if (!out.flush()) return false;
  }
  return std::rename(fresh.c_str(), path.c_str()) == 0;
}

// One command that a newcomer can paste, when scripts/run asks for it or a person is watching.
void print_try_line(const std::string& url, const std::string& data_dir) {
  const bool asked = std::getenv("MILLRACE_TRY") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  if (!asked && ::isatty(STDERR_FILENO) == 0) return;
  std::error_code unknown;
  const std::string data = std::filesystem::absolute(data_dir, unknown).string();
  std::cerr << "\nTry it, in another terminal:\n\n  " << cli::program() << " ocr FILE.pdf --url " << url
            << " --data " << cli::shell_word(data)
            << "\n\nor a whole folder, with progress: FOLDER -o OUT in place of FILE.pdf.\n"
            << "The API: " << url << "/openapi.json, with the key in " << data << "/admin.key\n\n";
}

// Until the first SIGINT or SIGTERM. SIGHUP ends nothing: what it would reload (keys) is followed within a
// second anyway.
void wait_for_end(const sigset_t& signals) {
  int signal = SIGHUP;
  while (sigwait(&signals, &signal) != 0 || signal == SIGHUP) {
  }
  base::log_info("draining", {{"signal", signal}});
}

// Drains on a thread of its own, while this one listens for a second SIGINT or SIGTERM, which ends the
// process at once.
void drain(const sigset_t& signals, Gateway& gateway) {
  std::atomic<bool> done{false};
  const pthread_t self = pthread_self();
  std::jthread drainer([&] {
    gateway.drain();
    done = true;
    pthread_kill(self, SIGHUP);
  });
  int signal = SIGHUP;
  while (!done) {
    if (sigwait(&signals, &signal) == 0 && signal != SIGHUP) ::_exit(128 + signal);
  }
}

int cannot(const std::string& message) {
  std::cerr << "millrace: " << message << '\n';
  return kExitFailed;
}

int cannot_start(const base::Error& error) {
  cannot(error.message);
  if (error.param == "listen")
    std::cerr << "Name another address with --listen HOST:PORT; port 0 takes a free one.\n";
  return kExitFailed;
}

int announce(const Settings& settings, const Gateway& gateway) {
  const std::string url = gateway.url();
  if (!settings.ready_file.empty() && !write_ready_file(settings.ready_file, url))
    return cannot("cannot write the ready file " + settings.ready_file);
  std::cout << "millrace ready" << (url.empty() ? "" : " " + url) << std::endl;
  if (!url.empty()) print_try_line(url, settings.data_dir);
  return kExitOk;
}

}  // namespace

int serve(const ServeRequest& request, const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  for (const base::ConfigMistake& mistake : loaded.mistakes) {
    std::cerr << (mistake.fatal ? "error: " : "warning: ") << mistake.place << ": " << mistake.message
              << '\n';
  }
  if (!loaded.settings) return kExitUsage;
  const auto roles = roles_of(request);
  if (!roles) {
    std::cerr << "millrace: " << roles.error().message << '\n';
    return kExitUsage;
  }
  const Settings& settings = *loaded.settings;
  if (!remove_ready_file(settings.ready_file))
    return cannot("cannot replace the ready file " + settings.ready_file);
  const sigset_t signals = block_signals();
  raise_open_files();
  base::log_start(settings.log_format, settings.log_level);
  auto gateway = Gateway::start(settings, *roles);
  if (!gateway) {
    base::log_stop();
    return cannot_start(gateway.error());
  }
  int code = announce(settings, **gateway);
  if (code == kExitOk) {
    wait_for_end(signals);
    drain(signals, **gateway);
  }
  gateway->reset();
  base::log_info("stopped");
  base::log_stop();
  return code;
}

}  // namespace millrace::app
