#include "platform/process/namespace_advice.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <sys/statvfs.h>
#include <unistd.h>

namespace millrace::process {
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

KernelSetting::Writer writer_of(const fs::path& file) {
  struct statvfs system {};
  if (::statvfs(file.c_str(), &system) == 0 && (system.f_flag & ST_RDONLY) != 0)
    return KernelSetting::Writer::kHost;
  if (::access(file.c_str(), W_OK) == 0) return KernelSetting::Writer::kThisUser;
  return ::geteuid() == 0 ? KernelSetting::Writer::kHost : KernelSetting::Writer::kRoot;
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
               "the kernel's settings allow user namespaces, so what Millrace runs in forbids them; ") +
           kInContainers;
  std::string command = "sysctl -w";
  auto writer = KernelSetting::Writer::kThisUser;
  for (const KernelSetting& setting : forbidding) {
    command += " " + setting.name + "=" + setting.wanted;
    writer = std::max(writer, setting.writer);
  }
  switch (writer) {
    case KernelSetting::Writer::kThisUser:
      return "allow user namespaces: " + command;
    case KernelSetting::Writer::kRoot:
      return "allow user namespaces, as root: " + command;
    case KernelSetting::Writer::kHost:
      return "allow user namespaces on the host, since /proc/sys cannot be written here: " + command + "; " +
             kInContainers;
  }
  return {};
}

}  // namespace millrace::process
