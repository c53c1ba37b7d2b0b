#include "machines/keys/key_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machines/keys/ssh_wire.h"
#include "platform/base/crypto.h"
#include "platform/base/fd.h"
#include "platform/base/ids.h"

namespace millrace::machines {
namespace {

constexpr std::size_t kFileMax = std::size_t{16} << 10;
constexpr unsigned kSecretMode = 0600, kPublicMode = 0644;

base::Error failed(const std::string& act, const std::string& path) {
  return base::error(base::Code::kInternal, "cannot " + act + " " + path + ": " + std::strerror(errno));
}

bool write_whole(int fd, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  return true;
}

// A temporary file next to `path`, synced to disk. The destructor removes it unless it was renamed.
class DraftFile {
 public:
  explicit DraftFile(const std::string& path) : name_(path + "." + base::hex(base::random_bytes(8))) {}
  ~DraftFile() { ::unlink(name_.c_str()); }
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;

  base::Status write(const std::string& bytes, unsigned mode) const {
    const base::Fd fd(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             static_cast<mode_t>(0600)));
    const bool written = fd && write_whole(fd.get(), bytes) &&
                         ::fchmod(fd.get(), static_cast<mode_t>(mode)) == 0 && ::fsync(fd.get()) == 0;
    return written ? base::Status() : base::Status(failed("write", name_));
  }
  const char* name() const { return name_.c_str(); }

 private:
  std::string name_;
};

base::Status sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const base::Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0 ? base::Status() : base::Status(failed("write", folder));
}

// Reads a small file that only its owner may read. nullopt: it does not exist.
base::Result<std::optional<std::string>> read_secret(const std::string& path) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return failed("read", path);
  if (!S_ISREG(found.st_mode) || (found.st_mode & 077) != 0) {
    return base::error(
        base::Code::kInternal,
        path +
            " can be read by other users, or is not a regular file: run chmod 600 on it, or replace the key");
  }
  std::string text(kFileMax, '\0');
  const ssize_t count = ::read(fd.get(), text.data(), text.size());
  if (count < 0) return failed("read", path);
  text.resize(static_cast<std::size_t>(count));
  return std::optional<std::string>(std::move(text));
}

// nullopt: another process has just created it.
base::Result<std::optional<Ed25519Key>> made_in(const std::string& path) {
  const Ed25519Key key = Ed25519Key::make();
  std::string text = key.file();
  const WipedAtEnd wipe(text);
  const DraftFile draft(path);
  if (auto written = draft.write(text, kSecretMode); !written) return std::move(written.error());
  if (::link(draft.name(), path.c_str()) != 0) {
    if (errno == EEXIST) return std::optional<Ed25519Key>();
    return failed("create", path);
  }
  if (auto synced = sync_folder_of(path); !synced) return std::move(synced.error());
  return std::optional<Ed25519Key>(key);
}

base::Result<Ed25519Key> read_or_made(const std::string& path) {
  auto text = read_secret(path);
  if (!text) return std::move(text.error());
  if (!*text) {
    auto made = made_in(path);
    if (!made) return std::move(made.error());
    if (*made) return std::move(**made);
    text = read_secret(path);
    if (!text) return std::move(text.error());
    if (!*text) return base::error(base::Code::kInternal, path + " was removed while it was read");
  }
  const WipedAtEnd wipe(**text);
  return Ed25519Key::from_file(**text, path);
}

}  // namespace

base::Status replace_file(const std::string& path, const std::string& bytes, unsigned mode) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    return base::error(base::Code::kInternal,
                       path + " exists and is not a regular file: choose another path");
  }
  const DraftFile draft(path);
  if (auto written = draft.write(bytes, mode); !written) return written;
  if (std::rename(draft.name(), path.c_str()) != 0) return failed("replace", path);
  return sync_folder_of(path);
}

base::Result<Ed25519Key> key_in_file(const std::string& path, const std::string& comment) {
  auto key = read_or_made(path);
  const std::string beside = path + ".pub";
  if (!key || ::access(beside.c_str(), F_OK) == 0) return key;
  const std::string line = key->public_key().line() + " " + comment + "\n";
  if (auto written = replace_file(beside, line, kPublicMode); !written) return std::move(written.error());
  return key;
}

}  // namespace millrace::machines
