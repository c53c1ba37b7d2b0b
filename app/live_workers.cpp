#include "app/live_workers.h"

#include <algorithm>
#include <filesystem>

#include <unistd.h>

#include "storage/lock_file.h"

namespace millrace::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockSuffix = ".lock";

// A lock file that is not there is not made.
bool is_held(const std::string& path) {
  if (::access(path.c_str(), R_OK | W_OK) != 0) return false;
  const auto lock = storage::LockFile::open(path);
  return lock && !lock->seen_holders().empty();
}

}  // namespace

std::vector<std::string> live_workers(const std::string& data_dir) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator at(data_dir + "/workers", error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() == kLockSuffix && is_held(path.string())) names.push_back(path.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_served(const std::string& data_dir) { return is_held(data_dir + "/locks/schema.lock"); }

}  // namespace millrace::app
