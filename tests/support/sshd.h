#pragma once
#include <string>

#include <sys/types.h>

#include "tests/support/temp_dir.h"

namespace millrace::support {

// Debian's sshd on a free port of the loopback address, which lets the user that runs the tests in with a
// certificate of one CA for one principal. Every call throws std::runtime_error with the words of what
// failed.
class Sshd {
 public:
  // Why there is none here; empty: there is one.
  static std::string missing();

  // `user_ca`: the line of its public key.
  Sshd(const std::string& user_ca, const std::string& principal);
  ~Sshd();
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;

  int port() const { return port_; }
  const std::string& user() const { return user_; }
  const std::string& host_key() const { return host_key_; }  // "ssh-ed25519 AAAA…"
  // The same sshd with this certificate ("ssh-ed25519-cert-v01@openssh.com AAAA…") of its host key.
  void restart_with_certificate(const std::string& certificate);
  // The same sshd with more lines of settings.
  void restart_with(const std::string& settings);
  // SIGKILL to it and to what serves its connections; the commands that were started stay.
  void kill_all();

 private:
  void start();
  bool try_start();
  void write_config() const;

  TempDir dir_;
  std::string user_;
  std::string host_key_;
  std::string certificate_;
  std::string settings_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace millrace::support
