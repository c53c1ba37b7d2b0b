#pragma once
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "machines/running_commands.h"
#include "platform/base/ids.h"

namespace millrace::machines {

// Every two seconds, measures the folders of machines that are running commands. Ends the commands of a
// machine whose folder exceeds its limit. Thread-safe. Does no work while no machine is in use.
class DiskWatch {
 public:
  // `root`: as in machines/sandbox/machine_folder.h; borrowed.
  DiskWatch(int root, RunningCommands& running_commands);
  ~DiskWatch();
  DiskWatch(const DiskWatch&) = delete;
  DiskWatch& operator=(const DiskWatch&) = delete;

  // Monitors the folder from now on until the machine is no longer in use.
  void watch(const base::Uuid& machine, const std::string& folder, std::uint64_t bytes_max);

 private:
  struct WatchedDisk {
    std::string folder;
    std::uint64_t bytes_max = 0;
  };
  void run(const std::stop_token& stop);
  void look(const base::Uuid& machine, const WatchedDisk& watched);

  const int root_;
  RunningCommands& running_commands_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<base::Uuid, WatchedDisk> watched_;
  std::jthread thread_;
};

inline constexpr const char* kDiskFull = "the machine's disk is full: storage_gib";

}  // namespace millrace::machines
