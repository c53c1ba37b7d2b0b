#include "storage/sqlite/sync_failure.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "storage/sqlite/errors.h"

namespace millrace::storage {
namespace {

// The content of the file: the reason, padded with zeros. The size is fixed, so that setting the flag
// allocates no disk block.
using FileContent = std::array<char, 1024>;

std::mutex flags_mutex;
std::vector<std::pair<std::string, int>>
    open_flags;  // the database path as SQLite names it, and the descriptor

std::string own_name() {
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  return "pid " + std::to_string(::getpid()) + ", host " + host.data();
}

// False: see errno.
bool write_content(int file, const std::string& reason) {
  FileContent content{};
  std::copy_n(reason.begin(), std::min(reason.size(), content.size() - 1), content.begin());
  return ::pwrite(file, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
}

}  // namespace

base::Result<std::unique_ptr<FailureFlag>> FailureFlag::open(const std::string& folder,
                                                             std::string database) {
  const std::string path = folder + "/failure";
  base::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const bool is_new = file && ::lseek(file.get(), 0, SEEK_END) == 0;
  if (!file || (is_new && !write_content(file.get(), {})))
    return base::error(base::Code::kInternal, path + ": cannot be opened: " + system_failure(errno));
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(database, failed);
  return std::unique_ptr<FailureFlag>(
      new FailureFlag(failed ? std::move(database) : whole.string(), std::move(file)));
}

FailureFlag::FailureFlag(std::string database, base::Fd file)
    : database_(std::move(database)), file_(std::move(file)) {
  const std::lock_guard lock(flags_mutex);
  open_flags.emplace_back(database_, file_.get());
}

FailureFlag::~FailureFlag() {
  const std::lock_guard lock(flags_mutex);
  std::erase(open_flags, std::pair(database_, file_.get()));
}

std::string FailureFlag::reason() const {
  FileContent content{};
  if (::pread(file_.get(), content.data(), content.size(), 0) <= 0) return {};
  return {content.begin(), std::find(content.begin(), content.end(), '\0')};
}

// If clearing fails, this process ends at its first check, with a log line.
void FailureFlag::clear() {
  if (is_set()) static_cast<void>(write_content(file_.get(), {}));
}

void FailureFlag::end_if_set() const {
  if (const std::string why = reason(); !why.empty()) exit_after_peer_failure(why);
}

void FailureFlag::set_for_file(const std::string& file, const std::string& error) {
  const std::lock_guard lock(flags_mutex);
  for (const auto& [database, flag] : open_flags) {
    if (file != database && file != database + "-wal") continue;
    // If even this cannot be written, the other processes notice the failing disk themselves.
    static_cast<void>(write_content(flag, own_name() + ": " + file + ": " + error));
  }
}

// Dirty pages cannot be dropped, hence the sync. The first sync may fail because of pages that could not be
// written before this start. The kernel reports that only once, and these pages are among those dropped.
base::Status drop_cached_pages(const std::string& file) {
  const base::Fd opened(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened && errno == ENOENT) return {};
  if (!opened)
    return base::error(base::Code::kInternal, file + ": cannot be opened: " + system_failure(errno));
  if (::fdatasync(opened.get()) != 0 && ::fdatasync(opened.get()) != 0) {
    return base::error(base::Code::kInternal, file + " cannot be synced: " + system_failure(errno) +
                                                  "; check the disk: `dmesg` has details; then start again");
  }
  // On tmpfs this is not supported: the pages are the file.
  ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

}  // namespace millrace::storage
