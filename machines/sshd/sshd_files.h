#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "machines/keys/ed25519_key.h"
#include "machines/keys/ssh_authority.h"
#include "machines/sandbox/etc_files.h"
#include "platform/base/clock.h"
#include "platform/base/fd.h"

// The files and arguments of an sshd in a machine's jail, in addition to the machine's disk.
namespace millrace::machines {

struct SshdOptions {
  std::string principal;  // required in certificates that may log in: the machine's id
  std::string host_name;  // the name in the host certificate
  const Ed25519Key& host_key;
  std::vector<std::uint64_t> revoked;
  base::WallTime now;
};

// The sshd programs that are installed on this host. sshd runs with the same uid as the user who logs in. So
// the jail executes copies that this uid cannot read, and the kernel denies the user access to the memory and
// descriptors of sshd.
std::vector<std::string> sshd_programs();

// The command line of an sshd that serves the connection on descriptors 0 and 1 and logs to descriptor 2.
std::vector<std::string> sshd_arguments();

// Its configuration, its host key with a short-lived certificate, the user CA and the current revocation
// list. kOverloaded: no file descriptor is left.
base::Result<std::vector<JailFile>> sshd_files(const SshdOptions& order, const SshAuthority& authority);

inline constexpr const char* kSshdProgram = "/usr/sbin/sshd";

}  // namespace millrace::machines
