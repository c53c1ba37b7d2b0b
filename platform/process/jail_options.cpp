#include "platform/process/jail_options.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "platform/process/engine_filter.h"

namespace millrace::process {
namespace {

// Files in /proc that describe the host as a whole and that no program needs: its command line, keys of other
// users, disks, devices. Files that do not exist or that only root can read need not be hidden.
constexpr const char* kHostFiles[] = {"/proc/bootconfig",  "/proc/cmdline",  "/proc/diskstats",
                                      "/proc/interrupts",  "/proc/kallsyms", "/proc/key-users",
                                      "/proc/keys",        "/proc/modules",  "/proc/partitions",
                                      "/proc/sched_debug", "/proc/swaps",    "/proc/timer_list"};
constexpr const char* kHostFolders[] = {"/proc/acpi", "/proc/asound", "/proc/fs", "/proc/scsi"};

bool all_may_read(const char* path) {
  struct stat about {};
  return ::stat(path, &about) == 0 && (about.st_mode & S_IROTH) != 0;
}

// /dev/null on a mount without devices can be neither opened nor written.
Arguments hiding_arguments() {
  Arguments words;
  for (const char* file : kHostFiles) {
    if (all_may_read(file)) append(words, {"--ro-bind", "/dev/null", file});
  }
  for (const char* folder : kHostFolders) {
    if (all_may_read(folder)) append(words, {"--tmpfs", folder, "--remount-ro", folder});
  }
  return words;
}

constexpr const char* kNetworkFiles[] = {"/etc/resolv.conf", "/etc/ssl/certs"};

}  // namespace

void append(Arguments& to, const Arguments& more) { to.insert(to.end(), more.begin(), more.end()); }

Arguments setpriv_arguments(uid_t uid) {
  Arguments words{kSetpriv};
  if (::geteuid() == 0) {
    const std::string text = std::to_string(uid);
    append(words, {"--reuid=" + text, "--regid=" + text, "--clear-groups", "--inh-caps=-all"});
  }
  words.emplace_back("--no-new-privs");
  return words;
}

Arguments bwrap_arguments(std::string_view hostname, std::uint64_t tmp_bytes,
                          const NamespaceOptions& options) {
  const std::string inner = std::to_string(options.inner_uid);
  Arguments words{kBwrap,
                  "--unshare-user",
                  "--unshare-ipc",
                  "--unshare-pid",
                  "--unshare-uts",
                  "--unshare-cgroup-try",
                  "--die-with-parent",
                  "--new-session",
                  "--cap-drop",
                  "ALL",
                  "--uid",
                  inner,
                  "--gid",
                  inner,
                  "--hostname",
                  std::string(hostname),
                  "--ro-bind",
                  "/usr",
                  "/usr"};
  append(words, {"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin"});
  append(words, {"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"});
  for (const char* path : kReadableFiles) append(words, {"--ro-bind-try", path, path});
  if (!options.network) words.emplace_back("--unshare-net");
  for (const char* path : kNetworkFiles) {
    if (options.network) append(words, {"--ro-bind-try", path, path});
  }
  append(words, {"--proc", "/proc"});
  static const Arguments hidden = hiding_arguments();
  append(words, hidden);
  append(words, {"--dev", "/dev", "--size", std::to_string(tmp_bytes), "--tmpfs", "/tmp"});
  return words;
}

std::string namespaces_advice(std::string_view reason) {
  if (::access(kBwrap, X_OK) != 0) return "install it: apt-get install bubblewrap";
  if (::access(kSetpriv, X_OK) != 0) return "install it: apt-get install util-linux";
  if (reason.find("setresuid") != std::string_view::npos || reason.find("setuid") != std::string_view::npos) {
    return "the container maps too few user ids: run Millrace as a user other than root";
  }
  return allow_namespaces(forbidding_settings());
}

namespace fs = std::filesystem;
namespace {

struct KnownSetting {
  const char *name, *file, *forbids, *allows;
};
constexpr std::array kKnownSettings = {
    KnownSetting{"kernel.unprivileged_userns_clone", "kernel/unprivileged_userns_clone", "0", "1"},
    KnownSetting{"kernel.apparmor_restrict_unprivileged_userns",
                 "kernel/apparmor_restrict_unprivileged_userns", "1", "0"},
    KnownSetting{"user.max_user_namespaces", "user/max_user_namespaces", "0", "10000"}};

constexpr const char* kInContainers =
    "in Docker: --security-opt seccomp=deploy/seccomp-exec.json (or seccomp=unconfined) --security-opt "
    "apparmor=unconfined, and a whole /proc: docs/compose.md";

std::string first_word(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

KernelSetting::ChangeableBy writer_of(const fs::path& file) {
  struct statvfs system {};
  if (::statvfs(file.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0)
    return KernelSetting::ChangeableBy::kHost;
  if (::access(file.c_str(), W_OK) == 0) return KernelSetting::ChangeableBy::kThisUser;
  return ::geteuid() == 0 ? KernelSetting::ChangeableBy::kHost : KernelSetting::ChangeableBy::kRoot;
}

}  // namespace

std::vector<KernelSetting> forbidding_settings(const fs::path& proc_sys) {
  std::vector<KernelSetting> out;
  for (const KnownSetting& known : kKnownSettings) {
    const fs::path file = proc_sys / known.file;
    if (first_word(file) == known.forbids) out.push_back({known.name, known.allows, writer_of(file)});
  }
  return out;
}

std::string allow_namespaces(const std::vector<KernelSetting>& forbidding) {
  if (forbidding.empty())
    return std::string(
               "the kernel's settings allow user namespaces, so the container or service that Millrace runs "
               "in forbids them; ") +
           kInContainers;
  std::string command = "sysctl -w";
  auto writer = KernelSetting::ChangeableBy::kThisUser;
  for (const KernelSetting& setting : forbidding) {
    command += " " + setting.name + "=" + setting.required;
    writer = std::max(writer, setting.writer);
  }
  switch (writer) {
    case KernelSetting::ChangeableBy::kThisUser:
      return "allow user namespaces: " + command;
    case KernelSetting::ChangeableBy::kRoot:
      return "allow user namespaces, as root: " + command;
    case KernelSetting::ChangeableBy::kHost:
      return "allow user namespaces on the host, since /proc/sys cannot be written here: " + command + "; " +
             kInContainers;
  }
  return {};
}

}  // namespace millrace::process
