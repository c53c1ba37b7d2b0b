#include "app/cli/secret_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace millrace::cli {
namespace {

constexpr mode_t kSecretFileMode = 0600;

// A place that we may write to and whose name ssh does not take apart.
std::string parent() {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    std::string path = value != nullptr ? value : "";
    const bool plain = path.starts_with('/') && path.find_first_of("\"%$\\\n") == std::string::npos;
    if (plain && ::access(path.c_str(), W_OK | X_OK) == 0) return path;
  }
  return "/tmp";
}

base::Error cannot(const std::string& what) {
  return base::error(base::Code::kInternal, "cannot make " + what + ": " + std::strerror(errno));  // NOLINT
}

}  // namespace

base::Result<SecretFolder> SecretFolder::make() {
  std::string path = parent() + "/millrace-ssh-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return cannot(path);
  return SecretFolder(std::move(path));
}

SecretFolder::SecretFolder(SecretFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

SecretFolder::~SecretFolder() {
  if (path_.empty()) return;
  std::error_code failed;
  std::filesystem::remove_all(path_, failed);
}

base::Status SecretFolder::write(const std::string& name, const std::string& content) const {
  const std::string whole = path(name);
  const int file = ::open(whole.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kSecretFileMode);
  if (file < 0) return cannot(whole);
  const bool written = ::write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  const base::Error failure = cannot(whole);
  const bool closed = ::close(file) == 0;
  if (!written || !closed) return failure;
  return {};
}

}  // namespace millrace::cli
