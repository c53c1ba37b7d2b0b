#include "storage/orphan_sweep.h"

#include <array>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/blob_files.h"

namespace millrace::storage {
namespace {

constexpr int kShards = 256;

std::string folder_at(int place) {
  if (place < 0) return std::string(kIncomingFolder);
  std::array<char, 3> name{};
  std::snprintf(name.data(), name.size(), "%02x", static_cast<unsigned>(place) & 0xffu);
  return name.data();
}

}  // namespace

OrphanSweep::~OrphanSweep() {
  if (listing_ != nullptr) ::closedir(listing_);
}

int OrphanSweep::step(const Question& question, int limit) {
  std::lock_guard lock(mutex_);
  int removed = 0;
  int folders_left = kShards + 1;  // at most one full round
  for (int looked = 0; looked < limit; ++looked) {
    const std::string path = next_path(folders_left);
    if (path.empty()) break;
    if (remove_if_orphan(path, question)) ++removed;
  }
  return removed;
}

std::string OrphanSweep::next_path(int& folders_left) {
  while (folders_left > 0) {
    if (listing_ != nullptr || open_next_folder()) {
      while (const dirent* entry = ::readdir(listing_)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") return folder_at(place_) + "/" + std::string(name);
      }
      ::closedir(listing_);
      listing_ = nullptr;
    }
    --folders_left;
  }
  return {};
}

bool OrphanSweep::open_next_folder() {
  place_ = place_ + 1 < kShards ? place_ + 1 : -1;
  listing_ = ::opendir((folder_ + "/" + folder_at(place_)).c_str());
  return listing_ != nullptr;
}

// Takes the lock before it asks the database. Whoever staged the file holds the lock until the transaction
// has ended; afterwards the row exists or never will.
bool OrphanSweep::remove_if_orphan(const std::string& path, const Question& question) const {
  const std::string full = folder_ + "/" + path;
  const OpenFile file(::open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (file.fd() < 0 || ::fstat(file.fd(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  const std::int64_t written_ms =
      static_cast<std::int64_t>(about.st_mtim.tv_sec) * 1000 + about.st_mtim.tv_nsec / 1'000'000;
  if (written_ms >= question.older_than_ms) return false;
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) return false;
  if (question.is_named(question.context, path)) return false;
  return ::unlink(full.c_str()) == 0;
}

}  // namespace millrace::storage
