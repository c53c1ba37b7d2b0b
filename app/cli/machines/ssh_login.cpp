#include "app/cli/machines/ssh_login.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/json_cells.h"
#include "platform/base/net_address.h"

namespace millrace::cli {
namespace {

constexpr mode_t kSecretFileMode = 0600;

// A writable folder whose path contains no characters that ssh would expand.
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

using nlohmann::json;
namespace {

constexpr int kPortMax = 65'535;

bool is_visible(char c) { return c > ' ' && c < '\x7f'; }

bool is_word(const std::string& text) {
  return !text.empty() && text.front() != '-' && std::ranges::all_of(text, is_visible);
}

// True for two words: a key's type and the key.
bool is_key_line(const std::string& text) {
  const std::size_t space = text.find(' ');
  return space != std::string::npos && is_word(text.substr(0, space)) && is_word(text.substr(space + 1));
}

bool is_user(const std::string& text) {
  return is_word(text) && text.find_first_of("@:/\\'\"`$;&|<>()") == std::string::npos;
}

base::Error wrong(const std::string& what) {
  return base::error(base::Code::kUpstream, "the gateway's answer has no usable " + what);
}

}  // namespace

base::Result<SshAccess> login_of(const json& session) {
  const json connection = session.value("connection", json::object());
  if (!connection.is_object()) return wrong("`connection`");
  const json trust = connection.value("host_trust", json::object());
  if (!trust.is_object() || text_at(trust, "kind") != "cert_authority") return wrong("`host_trust`");
  const auto port = connection.find("port");
  const bool good_port =
      port != connection.end() && port->is_number_integer() && *port >= 1 && *port <= kPortMax;
  if (!good_port) return wrong("`port`");
  SshAccess login{text_at(connection, "endpoint"),     port->get<int>(),
                  text_at(connection, "ssh_username"), text_at(trust, "host_pattern"),
                  text_at(trust, "public_key"),        text_at(connection, "user_certificate")};
  if (!base::is_host(login.endpoint)) return wrong("`endpoint`");
  if (!is_user(login.user)) return wrong("`ssh_username`");
  if (!is_word(login.host_pattern)) return wrong("`host_pattern`");
  if (!is_key_line(login.host_ca)) return wrong("`public_key` of the host authority");
  if (!is_key_line(login.certificate)) return wrong("`user_certificate`");
  return login;
}

std::string known_hosts(const SshAccess& login) {
  return "@cert-authority " + login.host_pattern + " " + login.host_ca + "\n";
}

std::vector<std::string> ssh_command_line(const std::string& program, const SshAccess& login,
                                          const SshFiles& files, const SshPassedOn& passed_on,
                                          const std::vector<std::string>& command) {
  std::vector<std::string> out = {program, "-F", "none"};
  const auto add = [&out](const std::string& option) {
    out.emplace_back("-o");
    out.push_back(option);
  };
  // ssh splits these values into words.
  const auto path = [](const std::string& file) { return "\"" + file + "\""; };
  for (const char* fixed :
       {"StrictHostKeyChecking=yes", "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no",
        "IdentitiesOnly=yes", "IdentityAgent=none", "PreferredAuthentications=publickey"}) {
    add(fixed);
  }
  add("UserKnownHostsFile=" + path(files.known_hosts));
  add("IdentityFile=" + path(files.key));
  add("CertificateFile=" + path(files.certificate));
  for (const std::string& option : passed_on.options) add(option);
  out.insert(out.end(), passed_on.flags.begin(), passed_on.flags.end());
  out.insert(out.end(), {"-p", std::to_string(login.port), "--", login.user + "@" + login.endpoint});
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

}  // namespace millrace::cli
