#include "workers/jobs/worker_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::workers {
namespace {

constexpr int kFieldsToStart = 19;  // of /proc/PID/stat between the state and the start time

std::optional<std::uint64_t> start_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');         // an iterator would throw if the process ends now
  const auto name_end = text.rfind(')');  // the name may contain any character
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < kFieldsToStart; ++i) fields >> skipped;
  std::uint64_t started = 0;
  if (!(fields >> started)) return std::nullopt;
  return started;
}

std::uint64_t own_pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace

ProcessIdentity ProcessIdentity::of(std::int64_t pid, std::string boot_id) {
  ProcessIdentity process;
  process.pid = pid;
  process.started_ticks = start_of(pid).value_or(0);
  process.pid_namespace = own_pid_namespace();
  process.boot_id = std::move(boot_id);
  return process;
}

std::string ProcessIdentity::str() const {
  return "pid " + std::to_string(pid) + " started " + std::to_string(started_ticks) + " namespace " +
         std::to_string(pid_namespace) + " boot " + boot_id;
}

std::optional<ProcessIdentity> ProcessIdentity::parse(std::string_view line) {
  std::istringstream words{std::string(line)};
  ProcessIdentity found;
  std::string pid, started, space, boot;
  words >> pid >> found.pid >> started >> found.started_ticks >> space >> found.pid_namespace >> boot >>
      found.boot_id;
  if (!words || pid != "pid" || started != "started" || space != "namespace" || boot != "boot")
    return std::nullopt;
  return found;
}

bool ProcessIdentity::kill_if_same(const std::string& own_boot_id) const {
  if (boot_id != own_boot_id || pid_namespace != own_pid_namespace() || pid <= 1 || pid == ::getpid())
    return false;
  if (start_of(pid) != started_ticks) return false;
  return ::kill(static_cast<pid_t>(pid), SIGKILL) == 0;
}

namespace {

namespace fs = std::filesystem;
using base::Code;

constexpr int kNamesMax = 1'000;  // workers of one host on one data directory
// A process that releases a dead worker's leases holds its lock for one commit. A name counts as in use only
// if its lock stays held for this long.
constexpr int kTries = 40;
constexpr int kTryEveryMs = 50;

constexpr std::string_view kSuffix = ".lock";

std::string folder_of(const std::string& data_dir) { return data_dir + "/workers"; }

// The name is used as a file name, a Kafka member name and a row's key.
bool is_name(std::string_view name) {
  constexpr std::size_t kNameMax = 128;
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  return plain && !name.empty() && name.size() <= kNameMax && name.front() != '.';
}

base::Status make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return base::error(Code::kInternal, folder + ": cannot create the folder: " + std::strerror(errno));
}

}  // namespace

base::Result<WorkerLock> WorkerLock::open(const std::string& path, std::string name, bool make) {
  base::Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600));
  if (!fd) return base::error(Code::kInternal, path + ": cannot open the file: " + std::strerror(errno));
  return WorkerLock(path, std::move(name), std::move(fd));
}

// The file may have been removed between open and flock; then the lock is worthless.
WorkerLock::LockResult WorkerLock::try_lock() {
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) return LockResult::kHeld;
  struct stat ours {
  }, named{};
  const bool same = ::fstat(fd_.get(), &ours) == 0 && ::stat(path_.c_str(), &named) == 0 &&
                    ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
  return same ? LockResult::kTaken : LockResult::kGone;
}

std::string host_name() {
  std::array<char, 65> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.front() ? name.data() : "worker";
}

base::Result<WorkerLock> WorkerLock::take(const std::string& data_dir, const Name& wanted,
                                          const std::string& boot_id) {
  const std::string& name = wanted.worker;
  const std::string host = wanted.host.empty() ? host_name() : wanted.host;
  const std::string folder = folder_of(data_dir);
  if (auto made = make_folder(folder); !made) return made.error();
  if (!name.empty() && !is_name(name)) {
    return base::error(Code::kInvalidField,
                       "a worker's name may have only letters, digits, '-', '_' and '.': " + name);
  }
  const int tries = name.empty() ? kNamesMax : kTries;
  for (int i = 0; i < tries; ++i) {
    const std::string lock_name = name.empty() ? host + "-" + std::to_string(i + 1) : name;
    std::string path = folder;
    path.append("/").append(lock_name).append(kSuffix);
    auto lock = open(path, lock_name, true);
    if (!lock) return lock.error();
    if (lock->try_lock() == LockResult::kTaken) {
      lock->kill_orphans(boot_id);
      lock->sign(boot_id);
      return lock;
    }
    if (!name.empty()) ::poll(nullptr, 0, kTryEveryMs);
  }
  return base::error(Code::kInvalidState,
                     "the worker name " + (name.empty() ? host + "-<n>" : name) +
                         " is in use on this data directory: choose another (worker.name)");
}

// A worker whose lock cannot be checked is not reported. A later check, or the end of its leases, handles it.
std::vector<WorkerLock> WorkerLock::dead(const std::string& data_dir) {
  std::vector<WorkerLock> found;
  std::error_code error;
  fs::directory_iterator at(folder_of(data_dir), error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() != kSuffix) continue;
    auto lock = open(path.string(), path.stem().string(), false);
    if (lock && lock->try_lock() == LockResult::kTaken) found.push_back(std::move(*lock));
  }
  return found;
}

void WorkerLock::sign(const std::string& boot_id) {
  const std::string line = ProcessIdentity::of(::getpid(), boot_id).str() + " file " + own_file() + "\n";
  // On a full disk the leases are still released; only the processes to kill are not known.
  if (::ftruncate(fd_.get(), 0) != 0 || ::pwrite(fd_.get(), line.data(), line.size(), 0) < 0) {
    base::log_warn("worker_lock_write_failed", {{"worker", name_}, {"why", std::strerror(errno)}});
  }
}

std::string WorkerLock::own_file() const {
  struct stat file {};
  return ::fstat(fd_.get(), &file) == 0 ? std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino)
                                        : "";
}

// In a copied data directory the file names processes of the original's worker; these are not killed.
void WorkerLock::kill_orphans(const std::string& boot_id) const {
  std::array<char, 512> text{};
  const ssize_t got = ::pread(fd_.get(), text.data(), text.size(), 0);
  if (got <= 0) return;
  const std::string line(text.data(), static_cast<std::size_t>(got));
  if (!line.ends_with(" file " + own_file() + "\n")) return;
  const auto before = ProcessIdentity::parse(line);
  if (before && before->kill_if_same(boot_id)) {
    base::log_warn("worker_leftover_killed", {{"worker", name_}, {"pid", before->pid}});
  }
}

void WorkerLock::remove() {
  ::unlink(path_.c_str());
  fd_.reset();
}

}  // namespace millrace::workers
