#include "platform/process/file_rules.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::process {
namespace {

// As of the sixth version of the interface; an older kernel takes the longer structure while what it does not
// know is zero.
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t ports = 0;
  std::uint64_t scoped = 0;
};
constexpr std::uint64_t kTruncate = 1ULL << 14;     // third version
constexpr std::uint64_t kPorts = 0b11;              // fourth: bind and connect TCP
constexpr std::uint64_t kDeviceIoctl = 1ULL << 15;  // fifth
constexpr std::uint64_t kScopes = 0b11;             // sixth: abstract sockets and signals

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t kRun = LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kList = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kFirstVersion = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;

Ruleset ruleset(long version) {
  Ruleset rules;
  rules.files = kFirstVersion;
  if (version >= 2) rules.files |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 4) rules.ports = kPorts;
  if (version >= 5) rules.files |= kDeviceIoctl;
  if (version >= 6) rules.scoped = kScopes;
  return rules;
}

base::Error refused(const std::string& what) {
  return base::error(base::Code::kInternal, "Landlock: " + what + ": " + std::strerror(errno));
}

// A path that is not there needs no rule. A file takes no right of folders.
bool allow(int rules, const char* path, std::uint64_t rights) {
  const base::Fd at(::open(path, O_PATH | O_CLOEXEC));
  if (!at) return errno == ENOENT;
  struct stat status {};
  if (::fstat(at.get(), &status) != 0) return false;
  if (!S_ISDIR(status.st_mode)) rights &= ~kList;
  const landlock_path_beneath_attr rule{rights, at.get()};
  return ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

}  // namespace

base::Result<base::Fd> engine_file_rules() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return refused("this kernel has none (5.13, and lsm= must name it)");
  const Ruleset wanted = ruleset(version);
  base::Fd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &wanted, sizeof wanted, 0)));
  if (!rules) return refused("no ruleset is made");
  bool allowed = allow(rules.get(), "/usr", kReadFile | kList | kRun) &&
                 allow(rules.get(), "/dev/null", kReadFile | kWriteFile) &&
                 allow(rules.get(), "/dev/zero", kReadFile) && allow(rules.get(), "/dev/urandom", kReadFile);
  for (const char* path : kReadableFiles) allowed = allowed && allow(rules.get(), path, kReadFile | kList);
  if (!allowed) return refused("no rule is taken");
  return rules;
}

}  // namespace millrace::process
