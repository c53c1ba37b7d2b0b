#include "ai/engines/host/tool.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::engines::host {

namespace {

using std::chrono::milliseconds;

constexpr int kDocumentFd = 3;
constexpr std::size_t kPiece = std::size_t{1} << 18;
constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kCaptureBytesMax = std::size_t{4} << 20;
constexpr milliseconds kEndGrace{
    20'000};                  // from the end of the output to that of the program, on a busy host
constexpr int kCpuGrace = 2;  // seconds from SIGXCPU to SIGKILL, for a program that ignores SIGXCPU
constexpr int kNotExecutable = 126, kNotFound = 127;  // exit codes of prlimit

// The limit in whole seconds, as the kernel counts it.
std::chrono::seconds kernel_limit(milliseconds cpu) {
  return std::max(std::chrono::seconds(1), std::chrono::ceil<std::chrono::seconds>(cpu));
}

// ffmpeg catches SIGXCPU: it exits with 1 or 255, or is killed at the hard limit. The kernel counts whole
// ticks for the limit, also those that a busy host took from this machine, so `exit.cpu` may be far lower
// than the limit.
bool used_up(const process::Exit& exit, milliseconds cpu) {
  constexpr int kAfterSignal = 255;
  return exit.signal == SIGXCPU || exit.code == kAfterSignal ||
         (!exit.ok() && 2 * exit.cpu >= kernel_limit(cpu));
}

[[noreturn]] void end_like_the_killed() {
  constexpr std::string_view kWhy = "millrace-engine: a program that it started was killed\n";
  static_cast<void>(!::write(STDERR_FILENO, kWhy.data(), kWhy.size()));
  ::_exit(1);
}

}  // namespace

ToolStream::Read ToolStream::read_some(std::string& to, Time deadline) {
  pollfd fd{out_.get(), POLLIN, 0};
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  if (left <= 0 || ::poll(&fd, 1, static_cast<int>(left)) <= 0) return Read::kTimeout;
  piece_.resize(kPiece);  // only once: clearing the buffer for every read would cost more than the read
  const ssize_t count = ::read(out_.get(), piece_.data(), piece_.size());
  to.append(piece_.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0 ? Read::kData : Read::kEnd;
}

ToolStream::Stop ToolStream::stop() {
  const auto exit = child_.wait(kEndGrace);
  const bool not_run = exit && (exit->code == kNotExecutable || exit->code == kNotFound);
  if (!exit || not_run) return Stop::kHost;
  if (used_up(*exit, cpu_)) return Stop::kBounds;
  if (exit->signal == SIGKILL) return Stop::kKilled;
  // The program aborts when the memory limit refuses an allocation.
  return exit->signal == SIGABRT ? Stop::kBounds : Stop::kItself;
}

bool ToolStream::hit_bounds() {
  const Stop how = stop();
  if (how == Stop::kKilled) end_like_the_killed();
  return how != Stop::kItself;
}

process::Command Tools::command(const std::string& program, std::vector<std::string> arguments,
                                int document_fd, milliseconds cpu) const {
  const auto seconds = kernel_limit(cpu).count();
  process::Command command;
  command.argv = {"/usr/bin/prlimit",
                  "--core=0",
                  "--as=1073741824",
                  "--cpu=" + std::to_string(seconds) + ":" + std::to_string(seconds + kCpuGrace),
                  "--",
                  "/usr/bin/" + program};
  for (std::string& argument : arguments) {
    command.argv.push_back(argument == "%" ? "/proc/self/fd/" + std::to_string(kDocumentFd)
                                           : std::move(argument));
  }
  command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=/tmp"};
  command.fds = {{kDocumentFd, document_fd}};
  return command;
}

base::Result<ToolStream> Tools::start(const std::string& program, std::vector<std::string> arguments,
                                      int document_fd, milliseconds cpu) const {
  auto pipe = base::make_pipe();
  if (!pipe) return std::move(pipe.error());
  ::fcntl(pipe->read.get(), F_SETPIPE_SZ,
          kPipeBytes);  // fewer wake-ups for rasters; if it fails, only speed is lost
  process::Command started = command(program, std::move(arguments), document_fd, cpu);
  started.fds.push_back({1, pipe->write.get()});
  auto child = process::Child::start(spawner_, started);
  if (!child) return std::move(child.error());
  return ToolStream(std::move(*child), std::move(pipe->read), cpu);
}

base::Result<process::Captured> Tools::capture(const std::string& program, std::vector<std::string> arguments,
                                               int document_fd) const {
  auto captured =
      process::capture(spawner_, command(program, std::move(arguments), document_fd, limits_.poppler_cpu),
                       {.wall = limits_.page_wall, .output_bytes_max = kCaptureBytesMax});
  if (!captured || captured->timed_out || captured->exit.ok()) return captured;
  if (used_up(captured->exit, limits_.poppler_cpu)) captured->exit = {0, SIGXCPU, captured->exit.cpu};
  if (captured->exit.signal == SIGKILL) end_like_the_killed();
  return captured;
}

namespace {

// An exception must not leave the copy, which would then continue as a second engine.
[[noreturn]] void work_and_exit(milliseconds cpu, const std::function<int()>& work) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A handler, such as that of a sanitizer, would make an exit of the signal that shows a bomb.
  ::signal(SIGSEGV, SIG_DFL);
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const auto seconds = static_cast<rlim_t>(kernel_limit(cpu).count());
  const rlimit time{seconds, seconds + kCpuGrace};
  ::setrlimit(RLIMIT_CPU, &time);
  ::_exit(work());
}

// nullopt: the copy crashed or exceeded its time.
std::optional<int> exit_code_of(pid_t copy) {
  int status = 0;
  if (copy < 0 || ::waitpid(copy, &status, 0) != copy) end_like_the_killed();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  if (WTERMSIG(status) == SIGKILL) end_like_the_killed();
  return std::nullopt;
}

}  // namespace

std::optional<int> run_in_copy(milliseconds cpu, const std::function<int()>& work) {
  const pid_t copy = ::fork();
  if (copy == 0) work_and_exit(cpu, work);
  return exit_code_of(copy);
}

std::string output_of_copy(milliseconds cpu, std::size_t bytes_max, const std::function<void(int to)>& work) {
  auto pipe = base::make_pipe();
  if (!pipe) return {};
  const pid_t copy = ::fork();
  if (copy == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    work_and_exit(cpu, [&] {
      work(pipe->write.get());
      return 0;
    });
  }
  pipe->write.reset();
  std::string bytes;
  std::vector<char> piece(kPiece);
  while (bytes.size() < bytes_max) {
    const ssize_t count = ::read(pipe->read.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes.append(piece.data(), std::min(static_cast<std::size_t>(count), bytes_max - bytes.size()));
  }
  pipe->read.reset();
  exit_code_of(copy);
  return bytes;
}

namespace {

constexpr int kWorkDone = 0, kWorkCutShort = 1;

// Reads both pipes until the copy has closed them.
void read_both(CopyRun& run, std::size_t bytes_max, int output, int errors) {
  struct Source {
    pollfd fd;
    std::string& to;
  };
  Source sources[] = {{{output, POLLIN, 0}, run.output}, {{errors, POLLIN, 0}, run.errors}};
  std::vector<char> piece(kPiece);
  for (int open = 2; open > 0;) {
    pollfd fds[] = {sources[0].fd, sources[1].fd};
    if (::poll(fds, 2, -1) <= 0) continue;
    for (std::size_t at = 0; at < 2; ++at) {
      if (fds[at].revents == 0) continue;
      const ssize_t count = ::read(fds[at].fd, piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        sources[at].fd.fd = -1;  // poll passes over it
        --open;
        continue;
      }
      std::string& to = sources[at].to;
      to.append(piece.data(), std::min(static_cast<std::size_t>(count), bytes_max - to.size()));
    }
  }
}

[[noreturn]] void work_apart(milliseconds cpu, int output, int errors, const std::function<void(int)>& work) {
  // The last to be registered is the first to run: no destructor of this process runs in the copy.
  std::atexit([] { ::_exit(kWorkCutShort); });
  ::dup2(errors, STDERR_FILENO);
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL}) ::signal(signal, SIG_DFL);
  work_and_exit(cpu, [&] {
    work(output);
    return kWorkDone;
  });
}

}  // namespace

std::optional<CopyRun> run_apart(milliseconds cpu, std::size_t bytes_max,
                                 const std::function<void(int to)>& work) {
  auto output = base::make_pipe();
  auto errors = base::make_pipe();
  if (!output || !errors) return std::nullopt;
  const pid_t copy = ::fork();
  if (copy == 0) work_apart(cpu, output->write.get(), errors->write.get(), work);
  output->write.reset();
  errors->write.reset();
  CopyRun run;
  if (copy > 0) read_both(run, bytes_max, output->read.get(), errors->read.get());
  int status = 0;
  rusage used{};
  if (copy < 0 || ::wait4(copy, &status, 0, &used) != copy) end_like_the_killed();
  run.was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  run.is_whole = WIFEXITED(status) && WEXITSTATUS(status) == kWorkDone;
  run.exceeded_time = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
  run.cpu = milliseconds(1'000 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                         (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1'000);
  return run;
}

}  // namespace millrace::engines::host
