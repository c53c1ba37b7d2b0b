#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "platform/base/result.h"

namespace millrace::cli {

// A folder of ours alone (0700) in $XDG_RUNTIME_DIR, which is memory, or the usual place for such things;
// removed with all that is in it at the end.
class SecretFolder {
 public:
  static base::Result<SecretFolder> make();
  ~SecretFolder();
  SecretFolder(SecretFolder&& other) noexcept;
  SecretFolder& operator=(SecretFolder&&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // A new file of ours alone. kInternal names it.
  base::Status write(const std::string& name, const std::string& content) const;

 private:
  explicit SecretFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The `connection` of a session that is ready.
struct SshLogin {
  std::string endpoint;
  int port = 22;
  std::string user;
  std::string host_pattern, host_ca;  // of the @cert-authority line
  std::string certificate;            // one line
};

// Pure. kUpstream: the session has no connection, or one that is no plain words: nothing of it may become an
// option of ssh or a second line of known_hosts.
base::Result<SshLogin> login_of(const nlohmann::json& session);

// The whole known_hosts of that login.
std::string known_hosts(const SshLogin& login);

// Where ssh finds what it is given.
struct SshFiles {
  std::string key, certificate, known_hosts;
};
// The command line of stock ssh, its program first. It reads no configuration and knows no other host or key;
// `options` (K=V) come after what is fixed, which ssh then does not let them change.
std::vector<std::string> ssh_command_line(const std::string& program, const SshLogin& login,
                                          const SshFiles& files, const std::vector<std::string>& options,
                                          const std::vector<std::string>& command);

}  // namespace millrace::cli
