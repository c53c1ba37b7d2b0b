#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"

// Command-line arguments of jails, shared by engines and machines.
namespace millrace::process {

using Arguments = std::vector<std::string>;

inline constexpr const char* kSetpriv = "/usr/bin/setpriv";
inline constexpr const char* kPrlimit = "/usr/bin/prlimit";
inline constexpr const char* kBwrap = "/usr/bin/bwrap";

void append(Arguments& to, const Arguments& more);

// The setpriv command without its `--`: no new privileges and, if we are root, another uid without groups and
// capabilities. `uid` must not be 0.
Arguments setpriv_arguments(uid_t uid);

struct NamespaceOptions {
  unsigned inner_uid = 65534;  // uid and gid inside the jail
  bool network = false;        // use the host's network, with its resolv.conf and certificates
};

// The bwrap command with separate namespaces and without capabilities. It provides a read-only /usr and
// related paths, /proc without information about the host, /dev and a private /tmp. The caller adds further
// writable or hidden paths, the working directory and the environment.
Arguments bwrap_arguments(std::string_view hostname, std::uint64_t tmp_bytes,
                          const NamespaceOptions& options = {});

// Advice for the operator about a jail with namespaces that failed for this reason.
std::string namespaces_advice(std::string_view reason);

// Advice for the operator when user namespaces are forbidden.

// A kernel setting that forbids user namespaces.
struct KernelSetting {
  std::string name;      // name for sysctl(8)
  std::string required;  // the value that allows them
  enum class ChangeableBy { kThisUser, kRoot, kHost };
  // who can set it; kHost: only on the host, because /proc/sys is not writable here
  ChangeableBy writer = ChangeableBy::kThisUser;
};
std::vector<KernelSetting> forbidding_settings(const std::filesystem::path& proc_sys = "/proc/sys");

// Names the command, who has to run it and where. If `forbidding` is empty, something else forbids user
// namespaces.
std::string allow_namespaces(const std::vector<KernelSetting>& forbidding);

}  // namespace millrace::process
