#include "machines/sandbox/disk_image.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/process/child.h"

namespace millrace::machines {
namespace {

constexpr const char* kMakeFilesystem = "/usr/sbin/mkfs.ext4";
constexpr const char* kCheck = "/usr/sbin/e2fsck";
constexpr const char* kResize = "/usr/sbin/resize2fs";
constexpr const char* kMount = "/usr/bin/mount";
constexpr const char* kUnmount = "/usr/bin/umount";

constexpr process::CaptureLimits kQuick{std::chrono::milliseconds(30'000), 4096};
// time for a check of the whole filesystem
constexpr process::CaptureLimits kThorough{std::chrono::milliseconds(600'000), 4096};
constexpr int kMountAttempts = 5;  // the loop device of an earlier mount may not be released yet
constexpr int kMountPauseMs = 100;
constexpr std::chrono::seconds kLockLimit{3};
constexpr int kLockPauseMs = 20;
constexpr int kLockInChild = 3;

base::Error failed(const std::string& what) { return base::error(base::Code::kHostAgentFailed, what); }

base::Error failed_at(const std::string& path) { return failed(path + ": " + std::strerror(errno)); }

struct Tool {
  std::vector<std::string> words;
  process::CaptureLimits limits = kQuick;
  int code_max = 0;  // e2fsck exits with 1 after it has repaired something
  bool may_be_killed = true;
};

base::Status run(const ImageTools& tools, Tool tool) {
  process::Command command;
  command.argv = std::move(tool.words);
  if (tools.lock >= 0) command.fds = {{kLockInChild, tools.lock}};
  command.kill_with_parent = tool.may_be_killed;
  command.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  const std::string program = command.argv.front();
  const std::vector<int> stops = tool.may_be_killed ? tools.stops : std::vector<int>();
  auto done = process::capture(tools.spawner, std::move(command), tool.limits, stops);
  if (!done) return std::move(done.error());
  if (done->stopped) return failed(program + " was cancelled");
  if (done->exit.signal == 0 && done->exit.code <= tool.code_max) return {};
  const std::string line = done->err.substr(0, done->err.find('\n'));
  return failed(program + " ended with " + std::to_string(done->exit.code) + ": " + line);
}

base::Status make_new(const ImageTools& tools, const std::string& path, std::uint64_t bytes, uid_t owner) {
  const std::string draft = path + ".new";
  const base::Fd file(::open(draft.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return failed_at(draft);
  const std::string user = std::to_string(owner);
  auto made = run(
      tools, {{kMakeFilesystem, "-q", "-F", "-m", "0", "-E",
               "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=" + user + ":" + user, draft}});
  if (!made) return made;
  if (::fsync(file.get()) != 0 || ::rename(draft.c_str(), path.c_str()) != 0) return failed_at(draft);
  return {};
}

// This file exists from before the image file grows until its filesystem has grown. The size of the image
// file alone does not show that.
std::string growth_mark(const std::string& path) { return path + ".grows"; }

base::Status grow(const ImageTools& tools, const std::string& path, std::uint64_t bytes) {
  const std::string mark = growth_mark(path);
  if (!base::Fd(::open(mark.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600))) {
    return failed_at(mark);
  }
  if (::truncate(path.c_str(), static_cast<off_t>(bytes)) != 0) return failed_at(path);
  if (auto checked = check_image(tools, path); !checked) return checked;
  if (auto resized = run(tools, {{kResize, path}, kThorough, 0, false}); !resized) return resized;
  return ::unlink(mark.c_str()) == 0 ? base::Status() : base::Status(failed_at(mark));
}

}  // namespace

std::string missing_image_program() {
  for (const char* program : {kMakeFilesystem, kCheck, kResize, kMount, kUnmount}) {
    if (::access(program, X_OK) != 0) return program;
  }
  return {};
}

base::Status make_image(const ImageTools& tools, const std::string& path, std::uint64_t bytes, uid_t owner) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? make_new(tools, path, bytes, owner) : base::Status(failed_at(path));
  }
  if (!S_ISREG(found.st_mode)) return failed(path + " is not a regular file");
  const auto size = static_cast<std::uint64_t>(found.st_size);
  const bool begun = ::access(growth_mark(path).c_str(), F_OK) == 0;
  if (size < bytes || begun) return grow(tools, path, std::max(size, bytes));
  return {};
}

base::Status check_image(const ImageTools& tools, const std::string& path) {
  return run(tools, {{kCheck, "-f", "-p", path}, kThorough, 1});
}

base::Status mount_image(const ImageTools& tools, const std::string& image, const std::string& folder) {
  base::Status mounted;
  for (int i = 0; i < kMountAttempts; ++i) {
    if (i > 0) ::poll(nullptr, 0, kMountPauseMs);
    mounted = run(tools, {{kMount, "-n", "-t", "ext4", "-o",
                           "loop,nosuid,nodev,noatime,discard,errors=remount-ro", image, folder}});
    if (mounted) break;
  }
  return mounted;
}

bool unmount_image(process::Spawner& spawner, const std::string& folder) {
  return run({spawner}, {{kUnmount, "-n", folder}}).has_value();
}

void detach_image(process::Spawner& spawner, const std::string& folder) {
  static_cast<void>(run({spawner}, {{kUnmount, "-n", "-l", folder}}));
}

base::Result<base::Fd> lock_image(const std::string& path) {
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return failed_at(path);
  const auto deadline = std::chrono::steady_clock::now() + kLockLimit;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed_at(path);
    if (std::chrono::steady_clock::now() >= deadline) {
      return base::error(base::Code::kMachineNotRoutable, "another worker uses this machine's disk");
    }
    ::poll(nullptr, 0, kLockPauseMs);
  }
  return file;
}

}  // namespace millrace::machines
