#pragma once
#include <string>

#include <sys/types.h>

#include "tests/support/temp_dir.h"

namespace millrace::support {

// Debian's sshd on a free port of the loopback address. The user that runs the tests can log in with a
// certificate of one CA for one principal. If a call fails, it throws std::runtime_error with the error text.
class Sshd {
 public:
  // The reason why sshd cannot run here; empty: it can.
  static std::string missing();

  // `user_ca`: the CA's public key as one line.
  Sshd(const std::string& user_ca, const std::string& principal);
  ~Sshd();
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;

  int port() const { return port_; }
  const std::string& user() const { return user_; }
  const std::string& host_key() const { return host_key_; }  // "ssh-ed25519 AAAA…"
  // Restarts sshd with this certificate of its host key ("ssh-ed25519-cert-v01@openssh.com AAAA…").
  void restart_with_certificate(const std::string& certificate);
  // Restarts sshd with additional configuration lines.
  void restart_with(const std::string& settings);
  // Sends SIGKILL to sshd and to the processes that serve its connections. The commands that they started
  // keep running.
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
