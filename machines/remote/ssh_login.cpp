#include "machines/remote/ssh_login.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/clock.h"
#include "platform/base/fd.h"
#include "platform/base/ids.h"

namespace millrace::machines {
namespace {

namespace fs = std::filesystem;

base::Error refused(const std::string& act, const std::string& path, const std::string& why) {
  return base::error(base::Code::kHostAgentFailed, "cannot " + act + " " + path + ": " + why);
}

bool in_use(const fs::directory_entry& entry) {
  std::error_code failed;
  if (!fs::is_directory(entry.symlink_status(failed))) return false;
  const auto lock = FolderLock::try_now(entry.path());
  return lock && !*lock;
}

// Removes the folders of processes that have ended. REQUIRES the lock of `folder`, so no other process is
// between creating a folder and locking it.
base::Status clean(const std::string& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (in_use(entry)) continue;
    fs::remove_all(entry.path(), failed);
    if (failed) break;
  }
  return failed ? base::Status(refused("clean", folder, failed.message())) : base::Status();
}

}  // namespace

base::Status make_private(const std::string& path) {
  const bool made = (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) && ::chmod(path.c_str(), 0700) == 0;
  return made ? base::Status() : base::Status(refused("create", path, std::strerror(errno)));
}

base::Result<std::unique_ptr<SshFolder>> SshFolder::open(const std::string& data_dir) {
  const std::string folder = data_dir + "/ssh";
  if (auto made = make_private(folder); !made) return std::move(made.error());
  const auto alone = FolderLock::wait(folder);
  if (!alone) return refused("use", folder, alone.error().message);
  if (auto cleaned = clean(folder); !cleaned) return std::move(cleaned.error());
  std::string own = folder + "/XXXXXX";
  if (::mkdtemp(own.data()) == nullptr) return refused("create", own, std::strerror(errno));
  auto lock = FolderLock::wait(own);
  if (!lock) return refused("use", own, lock.error().message);
  return std::unique_ptr<SshFolder>(new SshFolder(std::move(own), *std::move(lock)));
}

SshFolder::~SshFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kSshPort = 22;
constexpr std::chrono::minutes kClockSkew{1};
// covers only the login; a running command is not affected when it expires
constexpr std::chrono::minutes kCertificateLife{5};
constexpr std::size_t kMessageMax = 4096;

constexpr const char* kKey = "/id";
constexpr const char* kCertificate = "/id-cert.pub";
constexpr const char* kKnownHosts = "/known_hosts";
constexpr const char* kMessage = "/said";

base::Error cannot_make(const std::string& path) {
  return base::error(base::Code::kHostAgentFailed, "cannot create " + path + ": " + std::strerror(errno));
}

bool is_plain(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), plain);
}

std::uint64_t random_serial() {
  std::uint64_t serial = 0;
  const std::string bytes = base::random_bytes(sizeof serial);
  std::memcpy(&serial, bytes.data(), sizeof serial);
  return serial;
}

std::string seconds_text(milliseconds duration) {
  return std::to_string(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(duration).count()));
}

base::WallTime wall_now() {
  return std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
}

// Quotes a path for the client's settings, where "%" starts a variable.
std::string path_value(const std::string& path) {
  std::string value = "\"";
  for (const char c : path) value.append(c == '%' ? 2 : 1, c);
  return value.append("\"");
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

SshLogin::SshLogin(std::string folder, std::string name, const schemas::Machine& machine,
                   const SshAuthority& authority, Limits limits)
    : folder_(std::make_unique<const std::string>(std::move(folder))),
      name_(std::move(name)),
      target_(*machine.settings.ssh),
      principal_(schemas::machine_id(machine.id)),
      authority_(authority),
      limits_(limits),
      key_(make_key_pair()) {}

SshLogin::~SshLogin() {
  std::error_code ignored;
  if (folder_) fs::remove_all(*folder_, ignored);
}

base::Result<SshLogin> SshLogin::make(const std::string& home, const std::string& name,
                                      const schemas::Machine& machine, const SshAuthority& authority,
                                      Limits limits) {
  if (!is_plain(name)) return base::error(base::Code::kHostAgentFailed, "not the id of an execution");
  const std::string folder = home + "/" + name;
  if (auto made = make_private(folder); !made) return std::move(made.error());
  SshLogin login(folder, name, machine, authority, limits);
  if (auto written = login.write(kKey, login.key_.private_key); !written) return std::move(written.error());
  if (auto written = login.write(kKnownHosts, login.known_hosts()); !written) {
    return std::move(written.error());
  }
  return login;
}

base::Status SshLogin::write(const std::string& file, const std::string& content) const {
  const std::string path = *folder_ + file;
  const base::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const auto size = static_cast<ssize_t>(content.size());
  if (!fd || ::write(fd.get(), content.data(), content.size()) != size) return cannot_make(path);
  return {};
}

std::string SshLogin::known_hosts() const {
  const std::string host = lower(target_.host);
  const std::string pattern =
      target_.port == kSshPort ? host : "[" + host + "]:" + std::to_string(target_.port);
  return target_.host_key.empty() ? "@cert-authority " + pattern + " " + authority_.host_ca() + "\n"
                                  : pattern + " " + target_.host_key + "\n";
}

base::Status SshLogin::certify() const {
  UserCertificate certificate;
  certificate.key = key_.public_key;
  certificate.serial = random_serial();
  certificate.key_id = name_;
  certificate.principal = principal_;
  certificate.valid_from = wall_now() - kClockSkew;
  certificate.valid_until = wall_now() + kCertificateLife;
  certificate.pty = false;
  return write(kCertificate, authority_.sign(certificate) + "\n");
}

base::Result<process::Command> SshLogin::command(const std::string& remote) {
  if (auto certified = certify(); !certified) return std::move(certified.error());
  process::Command command;
  command.argv = {kSshClient, "-F", "none", "-T", "-a", "-x", "-E", *folder_ + kMessage};
  // The first value of a setting is used, and no configuration file is read that could add others.
  const std::string settings[] = {
      "BatchMode=yes",
      "StrictHostKeyChecking=yes",
      "UserKnownHostsFile=" + path_value(*folder_ + kKnownHosts),
      "GlobalKnownHostsFile=/dev/null",
      "IdentitiesOnly=yes",
      "IdentityAgent=none",
      "IdentityFile=" + path_value(*folder_ + kKey),
      "CertificateFile=" + path_value(*folder_ + kCertificate),
      "PreferredAuthentications=publickey",
      "ConnectTimeout=" + seconds_text(limits_.connect_timeout),
      "ServerAliveInterval=" + seconds_text(limits_.alive_interval),
      "ServerAliveCountMax=3",
      "ControlMaster=no",
      "ControlPath=none",
      "ClearAllForwardings=yes",
      "UpdateHostKeys=no",
      "PermitLocalCommand=no",
      "LogLevel=ERROR",
  };
  for (const std::string& setting : settings) {
    command.argv.emplace_back("-o");
    command.argv.push_back(setting);
  }
  for (const std::string& word : {std::string("-p"), std::to_string(target_.port), std::string("-l"),
                                  target_.user, std::string("--"), target_.host, remote}) {
    command.argv.push_back(word);
  }
  command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  return command;
}

std::string SshLogin::ssh_output() const {
  std::ifstream file(*folder_ + kMessage, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg()));
  std::string text(std::min(size, kMessageMax), '\0');
  file.seekg(static_cast<std::streamoff>(size - text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

std::string login_failure(std::string_view ssh_output) {
  struct Reason {
    std::string_view pattern, meaning;
  };
  constexpr auto kNoKey = "its host key is neither the configured one nor certified by our host CA";
  static constexpr std::array<Reason, 10> kReasons{{
      {"Connection refused", "its host refused the connection (is sshd running there?)"},
      {"Host key verification failed", kNoKey},
      {"host key is known for", kNoKey},
      {"Permission denied",
       "its host does not accept our certificate (TrustedUserCAKeys, AuthorizedPrincipalsFile)"},
      {"Could not resolve hostname", "the name of its host cannot be resolved"},
      {"No route to host", "there is no route to its host"},
      {"Network is unreachable", "there is no route to its host"},
      {"timed out", "its host did not answer in time"},
      {"no matching", "its host and the gateway have no algorithm in common"},
      {"onnection", "its host closed the connection before the login"},
  }};
  for (const Reason& reason : kReasons) {
    if (ssh_output.find(reason.pattern) != std::string_view::npos) return std::string(reason.meaning);
  }
  return "the login to its host failed";
}

}  // namespace millrace::machines
