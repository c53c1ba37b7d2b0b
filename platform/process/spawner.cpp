#include "platform/process/spawner.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/process/jail_options.h"

namespace millrace::process {
namespace {

// Descriptors for a child are first moved to this number or above. So a mapping never overwrites the source
// of another.
constexpr int kStaging = 64;
constexpr const char* kChrt = "/usr/bin/chrt";

base::Error spawn_error(const std::string& program, int code) {
  return base::error(base::Code::kInternal, "cannot start " + program + ": " + std::strerror(code));
}

struct Actions {
  posix_spawn_file_actions_t value;
  Actions() { posix_spawn_file_actions_init(&value); }
  ~Actions() { posix_spawn_file_actions_destroy(&value); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
};

struct Attributes {
  posix_spawnattr_t value;
  Attributes() { posix_spawnattr_init(&value); }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

int last_child_fd(const Command& command) {
  int last = 2;
  for (const Command::Mapping& mapping : command.fds) last = std::max(last, mapping.child_fd);
  return last;
}

// Sets up descriptors 0 … last (mapped, /dev/null or closed) and closes all higher ones.
bool arrange(const Command& command, std::vector<base::Fd>& staged, Actions& actions) {
  const int last = last_child_fd(command);
  std::vector<int> source(static_cast<std::size_t>(last) + 1, -1);
  for (const Command::Mapping& mapping : command.fds) {
    staged.emplace_back(::fcntl(mapping.parent_fd, F_DUPFD_CLOEXEC, kStaging));
    if (!staged.back()) return false;
    source[static_cast<std::size_t>(mapping.child_fd)] = staged.back().get();
  }
  for (int fd = 0; fd <= last; ++fd) {
    const int from = source[static_cast<std::size_t>(fd)];
    if (from >= 0) {
      posix_spawn_file_actions_adddup2(&actions.value, from, fd);
    } else if (fd <= 2) {
      posix_spawn_file_actions_addopen(&actions.value, fd, "/dev/null", O_RDWR, 0);
    } else {
      posix_spawn_file_actions_addclose(&actions.value, fd);
    }
  }
  posix_spawn_file_actions_addclosefrom_np(&actions.value, last + 1);
  return true;
}

void set_attributes(Attributes& attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes.value, &none);
  posix_spawnattr_setsigdefault(&attributes.value, &all);
  posix_spawnattr_setpgroup(&attributes.value, 0);
  posix_spawnattr_setflags(&attributes.value,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

// posix_spawn of glibc supports neither SCHED_IDLE nor PR_SET_PDEATHSIG. If SCHED_IDLE were set from outside,
// the child would already have run for a moment.
std::vector<std::string> arguments_of(const Command& command) {
  std::vector<std::string> arguments;
  if (command.kill_with_parent) arguments = {kSetpriv, "--pdeathsig", "KILL", "--"};
  if (command.idle) append(arguments, {kChrt, "--idle", "0"});
  arguments.insert(arguments.end(), command.argv.begin(), command.argv.end());
  return arguments;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& each : strings) result.push_back(const_cast<char*>(each.c_str()));
  result.push_back(nullptr);
  return result;
}

base::Result<Spawned> start(const Command& command) {
  Actions actions;
  Attributes attributes;
  std::vector<base::Fd> staged;
  if (!arrange(command, staged, actions)) {
    return base::error(base::Code::kOverloaded, "no file descriptor is left for a child: raise `ulimit -n`");
  }
  if (::access(command.argv.front().c_str(), X_OK) != 0) return spawn_error(command.argv.front(), errno);
  set_attributes(attributes);
  const std::vector<std::string> words = arguments_of(command);
  auto arguments = pointers(words);
  auto environment = pointers(command.environment);
  Spawned spawned;
  const int failure = ::posix_spawn(&spawned.pid, words.front().c_str(), &actions.value, &attributes.value,
                                    arguments.data(), environment.data());
  if (failure != 0) return spawn_error(command.argv.front(), failure);
  spawned.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0)));
  if (!spawned.pidfd) {
    const int code = errno;
    ::kill(-spawned.pid, SIGKILL);
    ::waitpid(spawned.pid, nullptr, 0);
    return spawn_error(command.argv.front(), code);
  }
  return spawned;
}

// Gives the calling thread a separate mount namespace. Its mounts are not visible elsewhere; later mounts of
// the host are visible in it.
bool leave_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
}

}  // namespace

struct Spawner::Request {
  const Command* command;
  std::optional<base::Result<Spawned>> answer;
};

Spawner::Spawner(Options options)
    : thread_([this, options](const std::stop_token& stop) { run(stop, options.own_mounts); }) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_; });
}

Spawner::~Spawner() {
  thread_.request_stop();
  thread_.join();
}

base::Result<Spawned> Spawner::spawn(const Command& command) {
  Request request{&command, std::nullopt};
  std::unique_lock lock(mutex_);
  requests_.push_back(&request);
  changed_.notify_all();
  changed_.wait(lock, [&] { return request.answer.has_value(); });
  return std::move(*request.answer);
}

bool Spawner::has_own_mounts() const { return own_mounts_; }

base::Result<base::Fd> Spawner::root() const {
  base::Fd root(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  if (!root) {
    return base::error(base::Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  }
  return root;
}

void Spawner::detach_mounts(bool own_mounts) {
  const bool apart = own_mounts && leave_mounts();
  base::Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::lock_guard lock(mutex_);
  own_mounts_ = apart;
  root_ = std::move(root);
  ready_ = true;
  changed_.notify_all();
}

void Spawner::run(const std::stop_token& stop, bool own_mounts) {
  detach_mounts(own_mounts);
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !requests_.empty(); })) {
    Request* request = requests_.front();
    requests_.pop_front();
    lock.unlock();
    auto answer = start(*request->command);
    lock.lock();
    request->answer.emplace(std::move(answer));
    changed_.notify_all();
  }
}

}  // namespace millrace::process
