#include "platform/process/jail.h"

#include <algorithm>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/process/child.h"
#include "platform/process/confine_process.h"
#include "platform/process/engine_filter.h"
#include "platform/process/jail_options.h"
#include "platform/process/memory_file.h"

namespace millrace::process {
namespace {

constexpr const char* kTrial = "/usr/bin/true";
constexpr int kTrialsMax = 3;  // of a form whose failure may pass

int free_child_fd(const Command& command) {
  int last = 2;
  for (const Command::Mapping& mapping : command.fds) last = std::max(last, mapping.child_fd);
  return last + 1;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Errors of bwrap and prlimit on a host that is short of memory or processes.
bool is_shortage(const std::string& line) {
  return line.find("Resource temporarily unavailable") != std::string::npos ||
         line.find("Cannot allocate memory") != std::string::npos;
}

// Starts the trial child in this form. kOverloaded: see Jail::trial.
base::Status child_trial(Spawner& spawner, const JailOptions& options, Confinement form) {
  auto jail = Jail::make(options, form);
  if (!jail) return jail.error();
  auto wrapped = jail->wrap({.argv = {kTrial}, .environment = {"PATH=/usr/bin"}, .fds = {}, .idle = false});
  if (!wrapped) return wrapped.error();
  const CaptureLimits limits{std::chrono::milliseconds(5000), 4096};
  auto captured = capture(spawner, std::move(wrapped->command), limits);
  if (!captured) return captured.error();
  if (captured->exit.ok()) return {};
  if (captured->timed_out)
    return base::error(base::Code::kOverloaded, "a trial jail did not answer within 5 s");
  const std::string line = first_line(captured->err);
  if (!line.empty())
    return base::error(is_shortage(line) ? base::Code::kOverloaded : base::Code::kInternal, line);
  return base::error(base::Code::kInternal,
                     "a trial jail ended with code " + std::to_string(captured->exit.code));
}

// Confines the calling thread and tries operations that must then fail. Returns the failure.
std::string lock_failure(base::Fd rules, base::Fd filter) {
  const bool ruled = static_cast<bool>(rules);
  if (auto locked = confine_process(std::move(rules), std::move(filter)); !locked)
    return locked.error().message;
  if (ruled && base::Fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)))
    return "Landlock is not effective here";
  if (base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))) return "seccomp is not effective here";
  return {};
}

}  // namespace

Jail::Jail(JailOptions options, Confinement confinement, std::string filter)
    : options_(std::move(options)), confinement_(confinement), filter_(std::move(filter)) {}

base::Result<Jail> Jail::make(const JailOptions& options, Confinement confinement) {
  if (options.uid == 0) return base::error(base::Code::kInternal, "a jail must not run as uid 0");
  auto filter = engine_seccomp_filter();
  if (!filter) return std::move(filter.error());
  return Jail(options, confinement, std::move(*filter));
}

// Without namespaces the child has to confine itself, so a thread of ours tries that here.
base::Status Jail::trial(Spawner& spawner, const JailOptions& options, Confinement form) {
  const base::Status tried = child_trial(spawner, options, form);
  if (!tried || form == Confinement::kNamespaces) return tried;
  auto bytes = engine_seccomp_filter();
  auto filter = bytes ? memory_file(*bytes) : base::Result<base::Fd>(std::move(bytes.error()));
  if (!filter) return filter.error();
  auto rules = form == Confinement::kFileRules ? engine_file_rules(options.readable)
                                               : base::Result<base::Fd>(base::Fd());
  if (!rules) return rules.error();
  std::string failure;
  std::jthread([&] { failure = lock_failure(std::move(*rules), std::move(*filter)); }).join();
  if (!failure.empty()) return base::error(base::Code::kInternal, failure);
  return {};
}

JailProbe Jail::probe(Spawner& spawner, const JailOptions& options) {
  JailProbe result;
  for (int trials = 0; trials == 0 || (result.is_transient && trials < kTrialsMax); ++trials) {
    const base::Status tried = trial(spawner, options, Confinement::kNamespaces);
    result.confinement = Confinement::kNamespaces;
    result.reason = tried ? std::string() : tried.error().message;
    result.usable = tried.has_value();
    result.is_transient = !tried && tried.error().code == base::Code::kOverloaded;
  }
  if (result.usable) return result;
  result.advice = namespaces_advice(result.reason);
  for (const Confinement form : {Confinement::kFileRules, Confinement::kReduced}) {
    const base::Status tried = trial(spawner, options, form);
    result.confinement = form;
    result.usable = tried.has_value();
    if (result.usable) break;
    result.reason += "; " + tried.error().message;
  }
  const bool own_uid = ::geteuid() == 0;
  if (result.usable && result.confinement == Confinement::kReduced && !own_uid && !options.unjailed) {
    result.usable = false;
    result.advice +=
        "; or set ocr.unjailed=true: a document that takes over the engine can then read and write "
        "this user's files";
  }
  return result;
}

std::vector<std::string> Jail::outer_arguments() const {
  Arguments words = setpriv_arguments(options_.uid);
  const bool namespaces = confinement_ == Confinement::kNamespaces;
  if (!namespaces) append(words, {"--pdeathsig", "KILL"});
  const JailLimits& limits = options_.limits;
  append(words, {"--", kPrlimit, "--core=0", "--nofile=" + std::to_string(limits.open_files),
                 "--fsize=" + std::to_string(limits.file_bytes)});
  if (limits.memory_bytes > 0) words.push_back("--data=" + std::to_string(limits.memory_bytes));
  // Without a user namespace, the limit counts all processes of the uid. So it can be set only for a separate
  // uid.
  const bool own_uid = ::geteuid() == 0;
  if (!namespaces && own_uid) words.emplace_back("--nproc=1024");
  words.emplace_back("--");
  return words;
}

std::vector<std::string> Jail::namespace_arguments(int filter_fd, const Command& inner) const {
  Arguments words = bwrap_arguments("engine", options_.limits.tmp_bytes);
  append(words, {"--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--clearenv"});
  for (const std::string& variable : inner.environment) {
    const auto equals = variable.find('=');
    append(words, {"--setenv", variable.substr(0, equals), variable.substr(equals + 1)});
  }
  append(words, {"--add-seccomp-fd", std::to_string(filter_fd), "--"});
  append(words, {kPrlimit, "--nproc=" + std::to_string(options_.limits.processes), "--"});
  return words;
}

namespace {

// A process can reach the file of its program through /proc/self/exe. If the program belongs to our user, and
// the jailed process has the same uid, it gets a copy; otherwise it could change the program for later
// children.
base::Result<base::Fd> open_program(const std::string& path) {
  base::Fd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0)
    return base::error(base::Code::kInternal, "cannot open the program " + path);
  if (::geteuid() == 0 || about.st_uid != ::geteuid()) return file;
  const base::Fd readable(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto copy = program_copy(readable.get(), static_cast<std::uint64_t>(about.st_size));
  return copy ? std::move(*copy) : std::move(file);  // this kernel may not execute files in memory
}

}  // namespace

base::Result<Jail::Wrapped> Jail::wrap(const Command& inner) const {
  Wrapped wrapped;
  auto program = open_program(inner.argv.front());
  if (!program) return std::move(program.error());
  wrapped.program = std::move(*program);
  auto filter = memory_file(filter_);
  if (!filter) return std::move(filter.error());
  wrapped.filter = std::move(*filter);

  const int program_fd = free_child_fd(inner);
  const int filter_fd = program_fd + 1;
  const int rules_fd = filter_fd + 1;
  Command& command = wrapped.command;
  command.environment = inner.environment;
  command.idle = inner.idle;
  command.fds = inner.fds;
  command.fds.push_back({program_fd, wrapped.program.get()});
  command.fds.push_back({filter_fd, wrapped.filter.get()});
  command.argv = outer_arguments();
  if (confinement_ == Confinement::kNamespaces) append(command.argv, namespace_arguments(filter_fd, inner));
  command.argv.push_back("/proc/self/fd/" + std::to_string(program_fd));
  command.argv.insert(command.argv.end(), inner.argv.begin() + 1, inner.argv.end());
  if (confinement_ == Confinement::kNamespaces) return wrapped;
  append(command.argv, {"--seccomp-fd", std::to_string(filter_fd)});
  if (confinement_ == Confinement::kReduced) return wrapped;
  auto rules = engine_file_rules(options_.readable);
  if (!rules) return std::move(rules.error());
  wrapped.rules = std::move(*rules);
  command.fds.push_back({rules_fd, wrapped.rules.get()});
  append(command.argv, {"--rules-fd", std::to_string(rules_fd)});
  return wrapped;
}

}  // namespace millrace::process
