#include "machines/keys/ssh_authority.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machines/keys/ed25519_key.h"
#include "machines/keys/key_file.h"
#include "machines/keys/ssh_certificate.h"

namespace millrace::machines {
namespace {

base::Error not_locked(const std::string& path) {
  return base::error(base::Code::kInternal, "cannot lock " + path + ": " + std::strerror(errno));
}

base::Fd opened(const std::string& path) {
  return base::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool locked(const base::Fd& fd, int operation) {
  int done = 0;
  do {
    done = ::flock(fd.get(), operation);
  } while (done != 0 && errno == EINTR);
  return done == 0;
}

}  // namespace

base::Result<FolderLock> FolderLock::wait(const std::string& path) {
  base::Fd fd = opened(path);
  if (!fd || !locked(fd, LOCK_EX)) return not_locked(path);
  return FolderLock(std::move(fd));
}

base::Result<std::optional<FolderLock>> FolderLock::try_now(const std::string& path) {
  base::Fd fd = opened(path);
  if (!fd) return not_locked(path);
  if (locked(fd, LOCK_EX | LOCK_NB)) return std::optional(FolderLock(std::move(fd)));
  if (errno == EWOULDBLOCK) return std::optional<FolderLock>();
  return not_locked(path);
}

namespace {

constexpr unsigned kListMode = 0644;
constexpr mode_t kFolderMode = 0711;  // lets sshd reach the revocation list

base::Error no_folder(const std::string& path) {
  return base::error(base::Code::kInternal, "cannot create " + path + ": " + std::strerror(errno));
}

base::Status make_authority_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0) return errno == EEXIST ? base::Status() : no_folder(folder);
  return ::chmod(folder.c_str(), kFolderMode) == 0 ? base::Status() : no_folder(folder);
}

// Root may act for the gateway's user (`millrace ssh-ca`). So all files get the owner of DATA.
base::Status give_to_owner(const std::string& data_dir, const std::string& folder) {
  struct stat data {};
  if (::geteuid() != 0) return {};
  if (::stat(data_dir.c_str(), &data) != 0) return no_folder(folder);
  if (data.st_uid == 0) return {};
  for (const char* name : {"", "/user_ca", "/user_ca.pub", "/host_ca", "/host_ca.pub"}) {
    if (::lchown((folder + name).c_str(), data.st_uid, data.st_gid) != 0) return no_folder(folder + name);
  }
  return {};
}

// The version of the list in `path`. nullopt: there is no list.
std::optional<std::uint64_t> version_in(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::array<char, kRevocationListHead> head;
  const ssize_t count = fd ? ::read(fd.get(), head.data(), head.size()) : -1;
  if (count < 0) return std::nullopt;
  return revocation_list_version({head.data(), static_cast<std::size_t>(count)});
}

}  // namespace

SshKeyPair make_key_pair() {
  const Ed25519Key key = Ed25519Key::make();
  return {key.file(), key.public_key()};
}

struct SshAuthority::Keys {
  std::string list_folder;  // of the revocation list
  Ed25519Key user, host;
  std::string user_line, host_line;
};

base::Result<std::shared_ptr<const SshAuthority>> SshAuthority::open(const std::string& secrets_dir,
                                                                     std::string data_dir) {
  if (data_dir.empty()) data_dir = secrets_dir;
  const std::string folder = secrets_dir + "/ca";
  std::string list_folder = data_dir + "/ca";
  if (auto made = make_authority_folder(folder); !made) return std::move(made.error());
  if (auto made = make_authority_folder(list_folder); !made) return std::move(made.error());
  auto user = key_in_file(folder + "/user_ca", "millrace-user-ca");
  if (!user) return std::move(user.error());
  auto host = key_in_file(folder + "/host_ca", "millrace-host-ca");
  if (!host) return std::move(host.error());
  if (auto given = give_to_owner(secrets_dir, folder); !given) return std::move(given.error());
  std::string user_line = user->public_key().line(), host_line = host->public_key().line();
  if (user_line == host_line) {
    return base::error(base::Code::kInternal,
                       folder + "/user_ca and host_ca are the same key: they must differ");
  }
  return std::make_shared<const SshAuthority>(
      std::unique_ptr<const Keys>(new Keys{std::move(list_folder), std::move(*user), std::move(*host),
                                           std::move(user_line), std::move(host_line)}));
}

SshAuthority::SshAuthority(std::unique_ptr<const Keys> keys) : keys_(std::move(keys)) {}
SshAuthority::~SshAuthority() = default;

const std::string& SshAuthority::user_ca() const { return keys_->user_line; }
const std::string& SshAuthority::host_ca() const { return keys_->host_line; }

std::string SshAuthority::sign(const UserCertificate& certificate) const {
  return signed_certificate(keys_->user, certificate);
}

std::string SshAuthority::sign(const HostCertificate& certificate) const {
  return signed_certificate(keys_->host, certificate);
}

std::string SshAuthority::revocation_list(std::vector<std::uint64_t> serials, std::uint64_t version,
                                          base::WallTime now) const {
  return key_revocation_list(keys_->user.public_key().blob, std::move(serials), version, now);
}

base::Status SshAuthority::write_revocation_list(std::vector<std::uint64_t> serials, std::uint64_t version,
                                                 base::WallTime now) const {
  const std::string path = keys_->list_folder + "/revoked.krl";
  const std::string list = revocation_list(std::move(serials), version, now);
  const auto alone = FolderLock::wait(keys_->list_folder);
  if (!alone) return alone.error();
  if (version_in(path).value_or(0) > version) return {};
  return replace_file(path, list, kListMode);
}

}  // namespace millrace::machines
