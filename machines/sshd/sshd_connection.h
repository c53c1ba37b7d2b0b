#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "machines/sshd/connection_relay.h"
#include "platform/base/fd.h"
#include "platform/process/child.h"

namespace millrace::machines {

// One sshd in its jail, the connection of its client, and its log output. The destructor ends all of them.
// Not thread-safe.
class SshdConnection {
 public:
  // `client` is the address of the client with its port. `log` is our non-blocking end of the pipe for sshd's
  // standard error.
  SshdConnection(std::string machine, std::string client, process::Child sshd,
                 std::unique_ptr<ConnectionRelay> relay, base::Fd log)
      : machine_(std::move(machine)),
        client_(std::move(client)),
        sshd_(std::move(sshd)),
        relay_(std::move(relay)),
        log_(std::move(log)) {}

  // Becomes readable when sshd has ended, and after that when the last bytes have been sent.
  int end_fd() const { return has_ended_ ? relay_->over_fd() : sshd_.pidfd(); }
  int log_fd() const { return log_.get(); }  // readable: call `read_log`; -1: the log has ended
  // Forwards sshd's output to our log: logins as `ssh_login`, everything else at debug level.
  void read_log();
  bool has_login() const { return has_login_; }
  // Of the certificate of the login; 0: there is none.
  std::int64_t serial() const { return serial_; }
  // True once sshd and the connection have ended. Logs a warning if the jail failed to start.
  bool is_over();

 private:
  void take(std::string_view bytes);
  void log_line();

  std::string machine_, client_;
  process::Child sshd_;
  bool has_login_ = false;
  std::int64_t serial_ = 0;
  bool has_ended_ = false;
  std::unique_ptr<ConnectionRelay> relay_;
  base::Fd log_;
  std::string line_, last_line_;
};

}  // namespace millrace::machines
