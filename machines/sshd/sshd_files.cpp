#include "machines/sshd/sshd_files.h"

#include <utility>

#include <unistd.h>

#include "machines/keys/ssh_wire.h"
#include "machines/sshd/local_sshd.h"
#include "platform/base/ids.h"
#include "platform/process/memory_file.h"

namespace millrace::machines {
namespace {

using std::chrono::minutes;

constexpr const char* kConfig = "/etc/ssh/sshd_config";

// The user who logs in has the same uid as sshd, so assume that the host key and its certificate can be read.
// The certificate is valid for this host's name. So it is valid only for the handshake, plus some minutes for
// clocks that differ.
constexpr minutes kHostCertificateBefore{5}, kHostCertificateAfter{10};

// The gateway provides the files, and they are read-only. Their owners are mapped by the jail, so StrictModes
// would check nothing useful.
constexpr const char* kRules = R"(HostKey /etc/ssh/ssh_host_ed25519_key
HostCertificate /etc/ssh/ssh_host_ed25519_key-cert.pub
TrustedUserCAKeys /etc/ssh/user_ca.pub
AuthorizedPrincipalsFile /etc/ssh/principals
RevokedKeys /etc/ssh/revoked.krl
CASignatureAlgorithms ssh-ed25519
AuthorizedKeysFile none
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
PermitRootLogin no
PermitEmptyPasswords no
UsePAM no
StrictModes no
DisableForwarding yes
AllowTcpForwarding no
AllowStreamLocalForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
GatewayPorts no
PermitUserRC no
PermitUserEnvironment no
AcceptEnv LANG LC_*
UseDNS no
PrintMotd no
PrintLastLog no
PidFile none
LoginGraceTime 10
MaxAuthTries 6
MaxSessions 10
ClientAliveInterval 30
ClientAliveCountMax 4
LogLevel INFO
Subsystem sftp internal-sftp
)";

std::string config_for(const std::string& principal) {
  return std::string(kRules) + "AllowUsers " + kSshUser + "\nSetEnv MILLRACE_MACHINE_ID=" + principal + "\n";
}

std::string host_certificate(const SshdOptions& order, const SshAuthority& authority) {
  HostCertificate certificate;
  certificate.key = order.host_key.public_key();
  certificate.key_id = order.principal;
  certificate.names = {order.host_name};
  certificate.valid_from = order.now - kHostCertificateBefore;
  certificate.valid_until = order.now + kHostCertificateAfter;
  return authority.sign(certificate) + "\n";
}

std::vector<std::pair<std::string, std::string>> texts(const SshdOptions& order,
                                                       const SshAuthority& authority) {
  const auto version = static_cast<std::uint64_t>(base::millis(order.now));
  return {{kConfig, config_for(order.principal)},
          {"/etc/ssh/ssh_host_ed25519_key-cert.pub", host_certificate(order, authority)},
          {"/etc/ssh/user_ca.pub", authority.user_ca() + "\n"},
          {"/etc/ssh/principals", order.principal + "\n"},
          {"/etc/ssh/revoked.krl", authority.revocation_list(order.revoked, version, order.now)}};
}

}  // namespace

std::vector<std::string> sshd_programs() {
  // OpenSSH 9.8 and later have the last two; sshd starts them.
  constexpr const char* kPrograms[] = {kSshdProgram, "/usr/lib/openssh/sshd-session",
                                       "/usr/lib/openssh/sshd-auth"};
  std::vector<std::string> here;
  for (const char* program : kPrograms) {
    if (::access(program, X_OK) == 0) here.emplace_back(program);
  }
  return here;
}

std::vector<std::string> sshd_arguments() { return {kSshdProgram, "-i", "-e", "-f", kConfig}; }

base::Result<std::vector<JailFile>> sshd_files(const SshdOptions& order, const SshAuthority& authority) {
  std::vector<JailFile> files;
  const auto add = [&](const std::string& path, const std::string& bytes) -> base::Status {
    auto file = process::memory_file(bytes);
    if (!file) return std::move(file.error());
    files.push_back({path, std::move(*file)});
    return {};
  };
  std::string secret = order.host_key.file();
  const WipedAtEnd wipe(secret);
  if (auto added = add("/etc/ssh/ssh_host_ed25519_key", secret); !added) return std::move(added.error());
  for (const auto& [path, bytes] : texts(order, authority)) {
    if (auto added = add(path, bytes); !added) return std::move(added.error());
  }
  return files;
}

}  // namespace millrace::machines
