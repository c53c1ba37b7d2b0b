#include "machines/cgroup_files.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machines/folder_entries.h"

namespace millrace::machines {
namespace {

constexpr int kOwnTries = 3;
constexpr std::size_t kGroupsMax = 100'000;

std::vector<std::string> groups_in(const std::string& parent) {
  const base::Fd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> paths;
  if (!folder) return paths;
  for (const std::string& name : names_in(folder.get(), kGroupsMax)) {
    struct stat found {};
    const bool is_group =
        ::fstatat(folder.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode);
    if (is_group) paths.push_back(std::string(parent).append("/").append(name));
  }
  return paths;
}

}  // namespace

bool write_group_file(const std::string& path, std::string_view text) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string read_group_file(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16384> buffer;
  while (file) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool make_group(const std::string& path) { return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST; }

base::Fd own_group(const std::string& path) {
  for (int i = 0; i < kOwnTries; ++i) {
    if (!make_group(path)) return {};
    base::Fd group(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Between the two somebody may have swept it.
    if (group && ::flock(group.get(), LOCK_SH | LOCK_NB) == 0 && ::access(path.c_str(), F_OK) == 0)
      return group;
  }
  return {};
}

void sweep_groups(const std::string& parent) {
  for (const std::string& path : groups_in(parent)) {
    const base::Fd group(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!group || ::flock(group.get(), LOCK_EX | LOCK_NB) != 0) continue;
    for (const std::string& inner : groups_in(path)) ::rmdir(inner.c_str());
    ::rmdir(path.c_str());
  }
}

unsigned long long number_in(std::string_view text, std::string_view key) {
  const std::string start = std::string(key).append(" ");
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    unsigned long long number = 0;
    if (line.substr(0, start.size()) == start) {
      std::from_chars(line.data() + start.size(), line.data() + line.size(), number);
      return number;
    }
    at += line.size() + 1;
  }
  return 0;
}

}  // namespace millrace::machines
