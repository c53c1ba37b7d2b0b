#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "machines/sshd/connection_relay.h"
#include "platform/base/fd.h"
#include "platform/process/child.h"

namespace millrace::machines {

// One sshd in its jail, its client's connection, and what it logs. Ends with this. Not thread-safe.
class SshdConnection {
 public:
  // `client`: where the connection comes from. `log`: our end of sshd's standard error, without blocking.
  SshdConnection(std::string machine, std::string client, process::Child sshd,
                 std::unique_ptr<ConnectionRelay> relay, base::Fd log)
      : machine_(std::move(machine)),
        client_(std::move(client)),
        sshd_(std::move(sshd)),
        relay_(std::move(relay)),
        log_(std::move(log)) {}

  // Readable: sshd has ended; or, when it has, its last bytes are sent.
  int end_fd() const { return has_ended_ ? relay_->over_fd() : sshd_.pidfd(); }
  int log_fd() const { return log_.get(); }  // readable: `read_log`; -1: there will be no more
  // Passes sshd's log on: logins as such, the rest for those who look for a fault.
  void read_log();
  // True once both have ended; says so in the log if that was the jail's fault.
  bool is_over();

 private:
  void take(std::string_view bytes);
  void log_line();

  std::string machine_, client_;
  process::Child sshd_;
  bool has_ended_ = false;
  std::unique_ptr<ConnectionRelay> relay_;
  base::Fd log_;
  std::string line_, last_line_;
};

}  // namespace millrace::machines
