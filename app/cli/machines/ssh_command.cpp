#include "app/cli/machines/ssh_command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/cli/backoff.h"
#include "app/cli/client.h"
#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/machines/exec_command.h"
#include "app/cli/machines/machine_choice.h"
#include "app/cli/machines/ssh_login.h"
#include "app/cli/program.h"
#include "app/cli/terminal.h"

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

// Spawn attributes with default signal handlers and an empty mask.
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

// A signal from a terminal key has reached the program as well. A hang-up reaches only the session's first
// process.
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
    if (changed == pid && WIFSTOPPED(status)) {  // by itself, for example ssh's ~^Z
      ::raise(SIGSTOP);
      ::kill(pid, SIGCONT);
    }
    pollfd input{signals_, POLLIN, 0};
    ::poll(&input, 1, -1);
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
      const int number = static_cast<int>(signal.ssi_signo);
      if (number != SIGCHLD && !has_reached_all(signal)) ::kill(pid, number);
    }
  }
}

using nlohmann::json;
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWheelTurn{100};
constexpr std::chrono::seconds kWorkerWait{5};
constexpr const char *kNotOpen = " was not opened", *kClosed = " is closed",
                     *kPerhapsOpen = " may have been opened; it ends by itself";
constexpr int kLostAnswersMax = 30;  // lost responses in a row while the machine wakes
constexpr const char* kKeyName = "id";
constexpr const char* kCertificateName = "id-cert.pub";
constexpr const char* kHostsName = "known_hosts";

int no_program(const std::string& name) {
  return fail("there is no `" + name +
              "` in PATH; install OpenSSH's client: apt-get install openssh-client (Debian, Ubuntu), dnf "
              "install openssh-clients (Fedora)");
}

std::string status_of(const json& session) { return session.value("status", ""); }

// An SSH session at the gateway, from its creation to its end.
class Session {
 public:
  // `left`: what is true of the session if our side is cut off, after "the session with NAME".
  Session(Client& client, Interrupt& interrupt, const std::string& machine, std::string& left)
      : client_(client), interrupt_(interrupt), path_("/v1/machines/" + machine + "/ssh"), left_(left) {}
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Creates the session and waits until a login is possible. Otherwise returns an exit code, with the reason
  // on stderr.
  int open(const std::string& public_key, WaitingLine& line) {
    const std::string body = json{{"public_key", public_key}}.dump();
    const Client::Headers key = fresh_key_header();
    answer_ = client_.request("POST", path_, body, key);
    const bool is_interrupted = answer_.error.exit_code == kInterrupted;
    if (is_interrupted) {  // the session may exist: the same key gets it, so that it can be closed
      left_ = kPerhapsOpen;
      answer_ = client_.request("POST", path_, body, key);
    }
    if (!answer_.ok) return is_interrupted ? int{kInterrupted} : fail(answer_.error);
    const std::string id = answer_.json->value("session_id", "");
    if (id.empty()) return fail(client_.no_gateway("its session has no `session_id`"));
    path_ += "/" + percent_encoded(id);
    is_open_ = true;
    if (is_interrupted) return kInterrupted;
    while (status_of(*answer_.json) == "wake_in_progress") {
      if (const int code = ask_again(line); code != kOk) return code;
    }
    line.clear();
    return status_of(*answer_.json) == "ready" ? int{kOk} : not_ready();
  }

  const json& reply() const { return *answer_.json; }

 private:
  // Printed once, if the machine takes longer than it would with a running worker.
  void print_worker_hint(WaitingLine& line) {
    const ClientOptions& options = client_.options();
    if (options.quiet || options.json || reported_ || Steady::now() - begun_ < kWorkerWait) return;
    reported_ = true;
    line.clear();
    std::cerr << "millrace: the session waits for the machine and its worker; `" << program()
              << " doctor` names the one that runs the machines of its host\n";
  }

  int ask_again(WaitingLine& line) {
    print_worker_hint(line);
    for (int lost = 0;; ++lost) {
      if (wait(pauses_.next(retry_after(answer_.reply)), line)) return kInterrupted;
      auto answer = client_.request("GET", path_);
      if (answer.ok) {
        answer_ = std::move(answer);
        return kOk;
      }
      if (!answer.error.transient || lost == kLostAnswersMax) {
        line.clear();
        return fail(answer.error);
      }
    }
  }

  // Waits. True: interrupted.
  bool wait(std::chrono::milliseconds time, WaitingLine& line) {
    const auto until = Steady::now() + time;
    for (auto left = time; left.count() > 0;) {
      line.spin();
      if (interrupt_.wait(std::min(left, kWheelTurn))) return true;
      left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    }
    return false;
  }

  int not_ready() const {
    const json& session = *answer_.json;
    const std::string code = session.value("error_code", "");
    std::string message = session.value("error_message", "");
    if (message.empty()) message = "the session is " + status_of(session);
    return fail(message + (code.empty() ? "" : " (" + code + ")"));
  }

  void close() {
    if (!is_open_) return;
    const auto answer = client_.request("DELETE", path_, {}, fresh_key_header());
    const bool gone = answer.ok || answer.error.exit_code == kNotFound;
    left_ = gone ? kClosed : " was not closed: " + answer.error.message + "; it ends by itself";
    if (!gone && !cut_off_by(interrupt_)) fail("the session" + left_);
  }

  Client& client_;
  Interrupt& interrupt_;
  std::string path_;  // API path: of the machine's sessions; once the session exists, its own
  std::string& left_;
  Client::Response answer_;
  Backoff pauses_;
  const Steady::time_point begun_ = Steady::now();
  bool reported_ = false;
  bool is_open_ = false;
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

base::Status write_trust(const SecretFolder& folder, const SshAccess& login) {
  if (auto written = folder.write(kHostsName, known_hosts(login)); !written) return written;
  return folder.write(kCertificateName, login.certificate + "\n");
}

// As ssh takes them: KEY=value, or KEY value as sftp and scp write it.
bool is_option(const std::string& text) {
  const std::size_t end = text.find_first_of("= ");
  return end != std::string::npos && end > 0 && text.find('\n') == std::string::npos;
}

// The programs and files of one login.
struct Tools {
  std::string ssh, keygen;
  SecretFolder folder;
  SshFiles files;
};

// Creates the key. Returns its public line.
base::Result<std::string> make_key(Foreground& foreground, const Tools& tools) {
  const auto made = foreground.run(
      {tools.keygen, "-q", "-t", "ed25519", "-N", "", "-C", "millrace ssh", "-f", tools.files.key});
  if (!made) return made.error();
  std::string line = *made == 0 ? first_line(tools.files.key + ".pub") : "";
  if (line.empty()) return base::error(base::Code::kInternal, "ssh-keygen created no key");
  return line;
}

// `left`: as in Session.
int log_in(const SshArguments& request, const Tools& tools, ClientOptions options, Interrupt& interrupt,
           Foreground& foreground, std::string& left) {
  const auto public_key = make_key(foreground, tools);
  if (!public_key) return fail(public_key.error().message);
  Client client(std::move(options), &interrupt);
  const FoundMachine machine = find_machine(client, request.machine);
  if (machine.exit_code != kOk) return machine.exit_code;
  Session session(client, interrupt, machine.id, left);
  WaitingLine line("waking " + request.machine + "…", client.options().quiet);
  if (const int code = session.open(*public_key, line); code != kOk) return code;
  const auto login = login_of(session.reply());
  if (!login) return fail(login.error().message, kServerError);
  if (const auto written = write_trust(tools.folder, *login); !written) return fail(written.error().message);
  const auto ended = foreground.run(
      ssh_command_line(tools.ssh, *login, tools.files, {request.options, request.flags}, request.command));
  return ended ? *ended : fail(ended.error().message);
}

}  // namespace

int run_ssh(const SshArguments& request, ClientOptions options) {
  for (const std::string& option : request.options) {
    if (!is_option(option))
      return fail("--ssh-option needs KEY=value, such as LogLevel=ERROR, not \"" + option + "\"", kUsage);
  }
  const auto ssh = find_program("ssh"), keygen = find_program("ssh-keygen");
  if (!ssh || !keygen) return no_program(ssh ? "ssh-keygen" : "ssh");
  Interrupt interrupt({SIGHUP, SIGPIPE, SIGQUIT});  // before anything exists that has to be removed
  Foreground foreground;
  auto folder = SecretFolder::make();
  if (!folder) return fail(folder.error().message);
  SshFiles files{folder->path(kKeyName), folder->path(kCertificateName), folder->path(kHostsName)};
  const Tools tools{*ssh, *keygen, *std::move(folder), std::move(files)};
  std::string left = kNotOpen;
  const int code = log_in(request, tools, std::move(options), interrupt, foreground, left);
  const auto cut_off = code == kInterrupted ? cut_off_by(interrupt) : std::nullopt;
  return cut_off ? fail_cut_off(*cut_off, "the session with " + request.machine + left) : code;
}

}  // namespace millrace::cli
