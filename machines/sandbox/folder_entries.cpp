#include "machines/sandbox/folder_entries.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::machines {
namespace {

constexpr std::size_t kEntriesMax = 1'000'000;
constexpr std::size_t kOpenFoldersMax = 256;
constexpr std::size_t kBatch = 4096;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Listing = std::unique_ptr<DIR, CloseFolder>;

Listing listing_of(int folder) {
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return Listing(copy < 0 ? nullptr : ::fdopendir(copy));
}

// The next entry. nullptr: there are no more.
const dirent* next(DIR* listing) {
  for (const dirent* entry = ::readdir(listing); entry != nullptr; entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry;
  }
  return nullptr;
}

base::Fd folder_in(int folder, const char* name) {
  return base::Fd(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Calls `visit` for the entries below the folder, until it returns false. False: the folders are nested too
// deep.
bool visit_below(int folder, const std::function<bool(const struct stat&)>& visit) {
  std::size_t seen = 0;
  std::vector<Listing> open;
  open.push_back(listing_of(folder));
  while (!open.empty() && seen < kEntriesMax) {
    DIR* const now = open.back().get();
    const dirent* entry = now == nullptr ? nullptr : next(now);
    if (entry == nullptr) {
      open.pop_back();
      continue;
    }
    ++seen;
    struct stat found {};
    if (::fstatat(::dirfd(now), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!visit(found)) return true;
    if (!S_ISDIR(found.st_mode)) continue;
    if (open.size() == kOpenFoldersMax) return false;
    const base::Fd inner = folder_in(::dirfd(now), entry->d_name);
    if (inner) open.push_back(listing_of(inner.get()));
  }
  return true;
}

// Removes one entry. False: it is a folder that is not empty.
bool removed(int folder, const std::string& name) {
  if (::unlinkat(folder, name.c_str(), 0) == 0) return true;
  return ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0;
}

// Opens a folder with all permissions, even if its owner removed them from its mode. We are the owner or may
// act for the owner.
base::Fd opened_fully(int folder, const std::string& name) {
  base::Fd inner = folder_in(folder, name.c_str());
  if (!inner && errno == EACCES) {
    const base::Fd entry = entry_of(folder, name);
    ::chmod(("/proc/self/fd/" + std::to_string(entry.get())).c_str(), 0700);
    inner = folder_in(folder, name.c_str());
  }
  if (inner) ::fchmod(inner.get(), 0700);
  return inner;
}

// Moves the sub-folders of `name` up next to it, so no deep path is ever walked, and removes everything else
// in it.
bool flatten(int top, const std::string& name, std::uint64_t& moved) {
  const base::Fd inner = opened_fully(top, name);
  if (!inner) return false;
  for (auto names = names_in(inner.get(), kBatch); !names.empty(); names = names_in(inner.get(), kBatch)) {
    for (const std::string& each : names) {
      if (removed(inner.get(), each)) continue;
      opened_fully(inner.get(), each);  // a folder must be writable to be moved
      const std::string up = ".millrace-removed-" + std::to_string(moved++);
      if (::renameat2(inner.get(), each.c_str(), top, up.c_str(), RENAME_NOREPLACE) != 0 && errno != EEXIST) {
        return false;
      }
    }
  }
  return ::unlinkat(top, name.c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace

std::vector<std::string> names_in(int folder, std::size_t most) {
  std::vector<std::string> names;
  const Listing listing = listing_of(folder);
  if (!listing) return names;
  for (const dirent* entry = next(listing.get()); entry != nullptr && names.size() < most;
       entry = next(listing.get())) {
    names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

base::Fd entry_of(int folder, const std::string& name) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return base::Fd(static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how)));
}

std::optional<std::uint64_t> bytes_below(int folder) {
  std::uint64_t bytes = 0;
  const bool complete = visit_below(folder, [&](const struct stat& found) {
    bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
    return true;
  });
  return complete ? std::optional(bytes) : std::nullopt;
}

bool has_large_file(int folder, std::uint64_t bytes, std::int64_t changed_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  bool found_one = false;
  visit_below(folder, [&](const struct stat& found) {
    found_one = S_ISREG(found.st_mode) && static_cast<std::uint64_t>(found.st_size) >= bytes &&
                found.st_mtim.tv_sec * kSecond + found.st_mtim.tv_nsec >= changed_ns;
    return !found_one;
  });
  return found_one;
}

bool remove_below(int folder) {
  std::uint64_t moved = 0;
  for (auto names = names_in(folder, kBatch); !names.empty(); names = names_in(folder, kBatch)) {
    for (const std::string& name : names) {
      if (!removed(folder, name) && !flatten(folder, name, moved)) return false;
    }
  }
  return true;
}

}  // namespace millrace::machines
