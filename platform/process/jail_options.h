#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "platform/base/fd.h"
#include "platform/base/result.h"

// The words that jails are started with, shared by those of engines and of machines.
namespace millrace::process {

using Words = std::vector<std::string>;

inline constexpr const char* kSetpriv = "/usr/bin/setpriv";
inline constexpr const char* kPrlimit = "/usr/bin/prlimit";
inline constexpr const char* kBwrap = "/usr/bin/bwrap";

void append(Words& to, const Words& more);

// setpriv without its `--`: no new privileges and, when we are root, another uid without groups and
// capabilities. `uid` is never 0.
Words setpriv_arguments(uid_t uid);

struct NamespaceOptions {
  unsigned inner_uid = 65534;  // uid and gid as they are seen inside
  bool network = false;        // the host's network, and what is needed to use it (names, certificates)
};

// bwrap with namespaces of its own, without capabilities; /usr read-only and what belongs to it, /proc
// without what it tells of the host as a whole, /dev and a private /tmp. What is to be written or hidden
// further, the working directory and the environment are the caller's to add.
Words bwrap_arguments(std::string_view hostname, std::uint64_t tmp_bytes,
                      const NamespaceOptions& options = {});

// An anonymous file with these bytes, at its beginning; nobody can change it. kOverloaded: no descriptor is
// left.
base::Result<base::Fd> memory_file(const std::string& bytes);

// What an operator can do about a jail with namespaces that failed for this reason.
std::string namespaces_advice(std::string_view reason);

// What an operator can do where user namespaces are forbidden.

// A setting of the kernel that forbids them.
struct KernelSetting {
  std::string name;      // of sysctl(8)
  std::string required;  // its value that allows them
  enum class Writer { kThisUser, kRoot, kHost };
  Writer writer = Writer::kThisUser;  // who can set it; kHost: nobody here, /proc/sys is not to be written
};
std::vector<KernelSetting> forbidding_settings(const std::filesystem::path& proc_sys = "/proc/sys");

// Names the command, and who has to run it where; without `forbidding` something else forbids them.
std::string allow_namespaces(const std::vector<KernelSetting>& forbidding);

}  // namespace millrace::process
