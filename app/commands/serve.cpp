#include "app/commands/serve.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ai/inference/routing/routing.h"
#include "app/cli/program.h"
#include "app/commands/commands.h"
#include "app/commands/with_store.h"
#include "app/components/gateway.h"
#include "app/config/settings.h"
#include "platform/base/log.h"

namespace millrace::app {
namespace {

// Blocks the signals before any thread starts, so that every thread inherits the mask and only main receives
// them.
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

// Disables core dumps: memory contains keys and secrets of commands.
void disable_core_dumps() {
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);  // a core_pattern that is a pipe ignores the limit
}

base::Result<Roles> roles_of(const ServeRequest& request) {
  Roles roles;
  roles.api = request.role != "worker";
  if (request.role == "api") return roles;
  if (request.kinds.empty()) {
    roles.kinds = {schemas::Kind::kOcr, schemas::Kind::kStt, schemas::Kind::kExec, schemas::Kind::kChat};
    return roles;
  }
  std::string_view rest = request.kinds;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const auto kind = schemas::kind_named(name);
    if (!kind || *kind == schemas::Kind::kMachine)  // exec implies it
      return base::error(base::Code::kInvalidField,
                         "--kinds: no kind \"" + std::string(name) + "\"; there are: ocr, stt, exec, chat");
    roles.kinds.push_back(*kind);
  }
  return roles;
}

// Removes a ready file that a killed process left, because it would report readiness too early.
bool remove_ready_file(const std::string& path) {
  return path.empty() || ::unlink(path.c_str()) == 0 || errno == ENOENT;
}

bool write_ready_file(const std::string& path, const Gateway& gateway) {
  const std::string temporary_path = path + ".new", metrics = gateway.metrics_url();
  {
    std::ofstream out(temporary_path, std::ios::trunc);
    out << "{\"url\": \"" << gateway.url() << "\", \"pid\": " << ::getpid();
    if (!metrics.empty()) out << ", \"metrics\": \"" << metrics << "\"";
    out << "}\n";
    if (!out.flush()) return false;
  }
  return std::rename(temporary_path.c_str(), path.c_str()) == 0;
}

// Prints commands to try, if scripts/run requests it or a person is watching.
void print_try_line(const std::string& url, const Settings& settings, bool runs_commands) {
  const bool is_trial = std::getenv("MILLRACE_TRY") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  if (!is_trial && ::isatty(STDERR_FILENO) == 0) return;
  std::error_code unknown;
  const std::string data = std::filesystem::absolute(settings.data_dir, unknown).string();
  const std::string where = " --url " + url + " --data " + cli::shell_word(data);
  const std::string model = suggested_model(settings.models);
  const std::string chat =
      model.empty() ? ""
                    : "\n  " + cli::program() + " chat" + where + " -m " + cli::shell_word(model) + " Hello";
  const std::string exec =
      runs_commands ? "\n  " + cli::program() + " exec run" + where + " -- echo hello" : "";
  std::cerr << "\nTry it, in another terminal:\n\n  " << cli::program() << " ocr FILE.pdf" << where << exec
            << chat
            << "\n\nor a whole folder, with progress: use FOLDER -o OUT for FILE.pdf. For recordings: use "
               "transcribe for ocr.\n"
            << "In a browser: " << url << ", and " << url << "/docs for the API; the key is in " << data
            << "/admin.key\n\n";
}

// If the file has a mistake, nothing changes and the log names the mistake.
void reload_machines(const Flags& flags, Gateway& gateway) {
  auto machines = machines_from_file(flags);
  if (!machines) return base::log_warn("machines_reload_failed", {{"reason", machines.error().message}});
  const std::size_t count = machines->size();
  if (const base::Status taken = gateway.reload_machines(*std::move(machines)); !taken)
    return base::log_warn("machines_reload_failed", {{"reason", taken.error().message}});
  base::log_info("machines_reloaded", {{"machines", count}});
}

void reload_models(const Flags& flags, Gateway& gateway) {
  const auto models = models_from_file(flags);
  if (!models) return base::log_warn("models_reload_failed", {{"reason", models.error().message}});
  gateway.reload_models(*models);
  base::log_info("models_reloaded", {{"models", models->models.size()}});
}

// Waits for the first SIGINT or SIGTERM. SIGHUP reloads machines and models; changed keys take effect within
// a second without it.
void wait_for_end(const sigset_t& signals, const Flags& flags, Gateway& gateway) {
  int signal = SIGHUP;
  while (signal == SIGHUP) {
    if (sigwait(&signals, &signal) != 0 || signal != SIGHUP) continue;
    reload_machines(flags, gateway);
    reload_models(flags, gateway);
  }
  base::log_info("draining", {{"signal", signal}});
}

// `timeout` and some supervisors send the first signal twice.
constexpr std::chrono::seconds kSameSignal{1};

// Drains on another thread, while this one waits for a second SIGINT or SIGTERM, which ends the process at
// once. A signal within kSameSignal of the first counts as the first.
void drain(const sigset_t& signals, Gateway& gateway) {
  std::atomic<bool> done{false};
  const pthread_t self = pthread_self();
  std::jthread drainer([&] {
    gateway.drain();
    done = true;
    pthread_kill(self, SIGHUP);
  });
  const auto first = std::chrono::steady_clock::now();
  int signal = SIGHUP;
  while (!done) {
    if (sigwait(&signals, &signal) != 0 || signal == SIGHUP) continue;
    if (std::chrono::steady_clock::now() - first < kSameSignal) continue;
    base::log_warn("stopped_at_once", {{"signal", signal}});
    base::log_flush();
    ::_exit(128 + signal);
  }
}

int cannot(const std::string& message) {
  std::cerr << "millrace: " << message << '\n';
  return cli::kFailed;
}

int cannot_start(const base::Error& error) {
  cannot(error.message);
  if (error.param == "listen" || error.param == "metrics.listen")
    std::cerr << "Set another address with --" << error.param << " HOST:PORT; port 0 takes a free one.\n";
  return cli::kFailed;
}

int announce(const Settings& settings, const Gateway& gateway) {
  const std::string url = gateway.url();
  if (!settings.ready_file.empty() && !write_ready_file(settings.ready_file, gateway))
    return cannot("cannot write the ready file " + settings.ready_file);
  base::log_flush();  // whoever reads this line may look for earlier log lines
  std::cout << "millrace ready" << (url.empty() ? "" : " " + url) << std::endl;
  std::cout.clear();  // a gateway serves also if nobody can read that
  std::clearerr(stdout);
  if (!url.empty()) print_try_line(url, settings, gateway.runs_commands());
  return cli::kOk;
}

}  // namespace

int serve(const ServeRequest& request, const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  if (const int code = print_mistakes(loaded); code != cli::kOk) return code;
  const auto roles = roles_of(request);
  if (!roles) {
    std::cerr << "millrace: " << roles.error().message << '\n';
    return cli::kUsage;
  }
  const Settings& settings = *loaded.settings;
  if (!remove_ready_file(settings.ready_file))
    return cannot("cannot replace the ready file " + settings.ready_file);
  const sigset_t signals = block_signals();
  raise_open_files();
  disable_core_dumps();
  base::log_start(settings.log_format, settings.log_level);
  auto gateway = Gateway::start(settings, *roles);
  if (!gateway) {
    base::log_stop();
    return cannot_start(gateway.error());
  }
  int code = announce(settings, **gateway);
  if (code == cli::kOk) {
    wait_for_end(signals, flags, **gateway);
    drain(signals, **gateway);
  }
  gateway->reset();
  base::log_info("stopped");
  base::log_stop();
  return code;
}

std::string suggested_model(const inference::ModelSettings& models) {
  if (models.mock) return "mock/chat";
  const auto chats = [](const inference::ModelRow& row) {
    return inference::serves(row, inference::Ability::kChat);
  };
  const auto found = std::find_if(models.models.begin(), models.models.end(), chats);
  return found == models.models.end() ? "" : found->target.name;
}

}  // namespace millrace::app
