#include "app/components/host_lock.h"

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace millrace::app {
namespace {

constexpr std::chrono::seconds kLookEvery{2};
// The mode that machines expect: their users must be able to pass through.
constexpr mode_t kFolderMode = 0711;

std::string path_in(const std::string& data_dir) { return data_dir + "/machines/host.lock"; }

}  // namespace

base::Result<std::unique_ptr<HostLock>> HostLock::open(const std::string& data_dir) {
  const std::string folder = data_dir + "/machines";
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return base::error(base::Code::kInternal, folder + ": cannot be created: " + std::strerror(errno));
  }
  auto lock = storage::LockFile::open(path_in(data_dir));
  if (!lock) return lock.error();
  return std::unique_ptr<HostLock>(new HostLock(*std::move(lock)));
}

bool HostLock::take() {
  if (!lock_.try_lock(storage::LockFile::Mode::kExclusive)) return false;
  lock_.record_owner();
  return true;
}

std::string HostLock::holder() const { return lock_.recorded_owner(); }

void HostLock::give_up() { lock_.unlock(); }

void HostLock::wait(std::function<void()> taken) {
  waiter_ = std::jthread([this, taken = std::move(taken)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopping;
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      if (take()) return taken();
      stopping.wait_for(lock, stop, kLookEvery, [] { return false; });
    }
  });
}

void HostLock::stop_waiting() {
  if (!waiter_.joinable()) return;
  waiter_.request_stop();
  waiter_.join();
}

std::string machines_holder(const std::string& data_dir) {
  if (::access(path_in(data_dir).c_str(), R_OK | W_OK) != 0) return {};
  const auto lock = storage::LockFile::open(path_in(data_dir));
  if (!lock || lock->visible_holders().empty()) return {};
  return lock->recorded_owner();
}

}  // namespace millrace::app
