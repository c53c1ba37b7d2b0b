#include "machines/sandbox/disk_watch.h"

#include <chrono>

#include "machines/sandbox/folder_entries.h"
#include "machines/sandbox/machine_folder.h"
#include "platform/base/fd.h"

namespace millrace::machines {
namespace {

constexpr std::chrono::seconds kPause{2};

}  // namespace

DiskWatch::DiskWatch(int root, RunningCommands& running_commands)
    : root_(root),
      running_commands_(running_commands),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

DiskWatch::~DiskWatch() = default;

void DiskWatch::watch(const base::Uuid& machine, const std::string& folder, std::uint64_t bytes_max) {
  const std::lock_guard lock(mutex_);
  watched_[machine] = {folder, bytes_max};
  changed_.notify_all();
}

void DiskWatch::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !watched_.empty(); })) {
    if (changed_.wait_for(lock, stop, kPause, [] { return false; }) || stop.stop_requested()) return;
    std::erase_if(watched_, [this](const auto& each) { return !running_commands_.any(each.first); });
    const auto now = watched_;
    lock.unlock();
    for (const auto& [machine, watched] : now) {
      if (!stop.stop_requested()) look(machine, watched);
    }
    lock.lock();
  }
}

void DiskWatch::look(const base::Uuid& machine, const WatchedDisk& watched) {
  const base::Fd folder = open_folder(root_, watched.folder);
  if (!folder) return;
  const auto bytes = bytes_below(folder.get());
  if (!bytes || *bytes > watched.bytes_max) running_commands_.end(machine, kDiskFull);
}

}  // namespace millrace::machines
