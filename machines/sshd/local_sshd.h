#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machines/keys/ssh_authority.h"
#include "machines/sandbox/etc_files.h"
#include "machines/sandbox/sandbox.h"
#include "schemas/machines/ssh_session.h"

namespace millrace::machines {

// SSH access to sandbox machines with a real sshd. The gateway listens on one port per machine. For each
// connection it starts `sshd -i` inside the machine's jail (docs/design/engines.md §3). The sshd uses pipes,
// which a ConnectionRelay connects to the socket.
//
// Users log in as "machine" (uid 1000, home /workspace). Only certificates of our user CA for the machine's
// principal (its id) are accepted. Forwarding is disabled. Each machine has a host key
// (DATA/machines/<id>/ssh_host_ed25519_key). The host CA signs a host certificate for it that names the
// endpoint. Thread-safe.
class LocalSshd {
 public:
  struct Options {
    std::string data_dir;
    std::string listen_host = "127.0.0.1";  // ssh.listen
    std::string public_host = {};           // ssh.public_host, the host of the endpoint; empty: listen_host
    // per machine; beyond it, the oldest connection without a login is closed for a new one (of the client
    // address with the most of them), or the new one if all have logged in
    int connections_max = 32;
    int logins_max = 4;  // sshds of one client address without a login, per machine; further connections wait
    std::chrono::milliseconds version_wait{2'000};  // a client that has not sent its version line is cut
    int starts_max = 16;  // sshds being started at once, at most one per machine; further connections wait
    // interval of the periodic `on_use` and `listener` calls for all machines
    std::chrono::milliseconds check_interval{5'000};
    std::chrono::milliseconds login_check_interval{500};  // of the `ended` calls
  };
  // Callbacks about machines. They may block. Listener threads call them concurrently.
  struct Hooks {
    // Called for each connection before its sshd starts. Returns the serials that are revoked now.
    std::function<base::Result<std::vector<std::uint64_t>>()> revoked;
    // Called for each connection and in each round, because another process may have put the machine to sleep
    // or opened its SSH endpoint. kOver ends the listener and its connections. kNotYet or an error closes
    // only the new connection.
    std::function<base::Result<schemas::SshListenerState>(const base::Uuid& machine)> listener;
    // Called while the machine has a connection: when it begins, in each round, and when it ends.
    std::function<void(const base::Uuid& machine)> on_use;
    // Called once after each login, with the serial of its certificate. Returns its API key; empty: none.
    std::function<base::Result<std::string>(std::int64_t serial)> key_of = nullptr;
    // Called regularly while there are logins, with their API keys. Returns those that allow no login any
    // more: their connections end. Both hooks are empty: none ever do.
    std::function<base::Result<std::vector<std::string>>(const std::vector<std::string>& keys)> ended =
        nullptr;
  };

  // Error: sshd is not installed; the message says what to install.
  static base::Result<std::unique_ptr<LocalSshd>> open(Options options, Sandbox& sandbox,
                                                       std::shared_ptr<const SshAuthority> authority,
                                                       Hooks hooks);
  ~LocalSshd();
  LocalSshd(const LocalSshd&) = delete;
  LocalSshd& operator=(const LocalSshd&) = delete;

  struct Endpoint {
    std::string host;
    int port = 0;
  };
  // Starts listening for the machine, on `port` if it is free, otherwise on any free port. Idempotent. The
  // machine must have been started. Blocks. kHostAgentFailed: the message is for the machine's owner; the log
  // has the reason. kMachineNotRoutable: the machine uses the host's network. A user of such a machine could
  // listen on the port of another machine and present a host key that clients trust.
  base::Result<Endpoint> listen(const schemas::Machine& machine, int port);
  // Stops listening for the machine and ends its connections (sleep, reboot, destroy). Must not be called
  // from a hook.
  void close(const base::Uuid& machine);

 private:
  struct Impl;
  explicit LocalSshd(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

inline constexpr const char* kSshUser = kInnerUser;

}  // namespace millrace::machines
