#include "api/secret_file.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "platform/base/fd.h"
#include "platform/base/ids.h"
#include "platform/base/log.h"

namespace millrace::api {
namespace {

constexpr std::size_t kSecretFileMax = 4096;
constexpr std::size_t kPepperBytes = 32;
constexpr std::size_t kSecretKeyBytes = 32;

base::Error failed(const std::string& path, std::string_view act) {
  return base::error(base::Code::kInternal,
                     path + ": cannot " + std::string(act) + ": " + std::strerror(errno));
}

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

// nullopt: there is no such file.
base::Result<std::optional<std::string>> read_secret(const std::string& path) {
  const base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<std::string>();
  if (!file) return failed(path, "open");
  struct stat about {};
  if (::fstat(file.get(), &about) == 0 && (about.st_mode & 077) != 0) {
    base::log_warn("secret_file_is_readable_by_others", {{"path", path}, {"fix", "chmod 600"}});
  }
  std::string text(kSecretFileMax, '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return failed(path, "read");
  text.resize(static_cast<std::size_t>(got));
  return std::optional(without_line_end(std::move(text)));
}

base::Status write_whole(const std::string& path, const std::string& text) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return failed(path, "create");
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failed(path, "write");
  if (::fsync(file.get()) != 0) return failed(path, "sync");
  return {};
}

base::Status sync_folder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const base::Fd fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return failed(folder, "sync");
  return {};
}

// Gives `text` the name `path` unless somebody else was first.
base::Status publish(const std::string& path, const std::string& text) {
  const std::string temporary = path + "." + base::hex(base::random_bytes(8));
  base::Status written = write_whole(temporary, text + "\n");
  if (written && ::link(temporary.c_str(), path.c_str()) != 0 && errno != EEXIST)
    written = failed(path, "link");
  ::unlink(temporary.c_str());
  if (!written) return written;
  return sync_folder(path);
}

}  // namespace

base::Result<std::string> secret_file(const std::string& path, const std::function<std::string()>& make) {
  auto text = read_secret(path);
  if (!text) return text.error();
  if (!*text) {
    if (auto published = publish(path, make()); !published) return published.error();
    text = read_secret(path);
    if (!text) return text.error();
  }
  if (!*text || (*text)->empty()) {
    return base::error(base::Code::kInternal,
                       path + " is empty: restore it from a backup, or remove it to make a new one");
  }
  return std::move(**text);
}

base::Result<std::string> pepper(const std::string& data_dir) {
  const std::string path = data_dir + "/pepper";
  auto text = secret_file(path, [] { return base::hex(base::random_bytes(kPepperBytes)); });
  if (text && text->size() < kPepperBytes) {
    return base::error(base::Code::kInternal,
                       path + " is too short to be a pepper: restore it from a backup");
  }
  return text;
}

base::Result<std::string> secret_key(const std::string& data_dir) {
  const std::string path = data_dir + "/secret.key";
  auto text = secret_file(path, [] { return base::base64_encode(base::random_bytes(kSecretKeyBytes)); });
  if (!text) return text;
  const std::string key = base::base64_decode(*text).value_or("");
  if (key.size() != kSecretKeyBytes) {
    return base::error(base::Code::kInternal, path + " holds no key of 32 bytes: restore it from a backup");
  }
  return key;
}

}  // namespace millrace::api
