#pragma once
#include <string>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::machines {

// The user of a machine, as every process in its jails sees it: commands and SSH logins alike.
inline constexpr unsigned kInnerUid = 1000;  // also its gid
inline constexpr const char* kInnerUser = "machine";
inline constexpr const char* kInnerHost = "machine";  // the host name

// One file of a jail.
struct JailFile {
  std::string path;
  base::Fd content;  // a sealed memory file
};

// The files of /etc in which programs look up names: passwd, group, hosts, host.conf, nsswitch.conf
// and, without the host's network, resolv.conf. They hold nothing of the host. kOverloaded: no file
// descriptor is left.
base::Result<std::vector<JailFile>> etc_files(bool network);

}  // namespace millrace::machines
