#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "machines/keys/ed25519_key.h"
#include "machines/keys/ssh_authority.h"
#include "platform/base/clock.h"
#include "platform/base/fd.h"

// What an sshd in a machine's jail is given beside the machine's disk.
namespace millrace::machines {

struct SshdOrder {
  std::string principal;  // of the certificates that may log in: the machine's id
  std::string host_name;  // that the host certificate is for
  const Ed25519Key& host_key;
  std::vector<std::uint64_t> revoked;
  base::WallTime now;
};

// One file, seen inside at `path`.
struct JailFile {
  std::string path;
  base::Fd content;  // in memory, sealed
};

// The programs of sshd that are here. Its user has the uid of whoever logs in: they run from copies that it
// cannot read, so that the kernel closes their memory and descriptors to that user.
std::vector<std::string> sshd_programs();

// The words that start sshd on the connection at its descriptors 0 and 1; what it says goes to 2.
std::vector<std::string> sshd_arguments();

// Its configuration, host key with a certificate for the next minutes, CA, revocation list of this moment,
// and the one account that it knows. kOverloaded: no descriptor is left.
base::Result<std::vector<JailFile>> sshd_files(const SshdOrder& order, const SshAuthority& authority);

inline constexpr const char* kSshdProgram = "/usr/sbin/sshd";

}  // namespace millrace::machines
