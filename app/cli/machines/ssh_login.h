#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/result.h"

namespace millrace::cli {

// A temporary folder that only our user can read (0700), in $XDG_RUNTIME_DIR (memory) or else the usual place
// for temporary files. The destructor removes it with its contents.
class SecretFolder {
 public:
  static base::Result<SecretFolder> make();
  ~SecretFolder();
  SecretFolder(SecretFolder&& other) noexcept;
  SecretFolder& operator=(SecretFolder&&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Creates a file that only our user can read. kInternal names it.
  base::Status write(const std::string& name, const std::string& content) const;

 private:
  explicit SecretFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The `connection` of a session that is ready.
struct SshAccess {
  std::string endpoint;
  int port = 22;
  std::string user;
  std::string host_pattern, host_ca;  // of the @cert-authority line
  std::string certificate;            // one line
};

// Parses the session. Pure. kUpstream: it has no connection, or a value contains characters that could become
// an option of ssh or a second line of known_hosts.
base::Result<SshAccess> login_of(const nlohmann::json& session);

// The content of known_hosts for this login.
std::string known_hosts(const SshAccess& login);

// Paths of the files that are passed to ssh.
struct SshFiles {
  std::string key, certificate, known_hosts;
};
// What the user passes on to ssh. `options` (K=V) follow our own; ssh does not let them override those.
struct SshPassedOn {
  std::vector<std::string> options;
  std::vector<std::string> flags{};  // "-T"
};
// The command line of ssh, starting with the program. ssh reads no configuration file and knows no other host
// or key.
std::vector<std::string> ssh_command_line(const std::string& program, const SshAccess& login,
                                          const SshFiles& files, const SshPassedOn& passed_on,
                                          const std::vector<std::string>& command);

}  // namespace millrace::cli
