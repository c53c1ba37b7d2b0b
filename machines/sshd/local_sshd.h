#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machines/keys/ssh_authority.h"
#include "machines/sandbox/sandbox.h"
#include "schemas/machines/ssh_session.h"

namespace millrace::machines {

// A real sshd for each sandbox machine: a listener of ours, and for each connection `sshd -i` inside of the
// machine's own jail (docs/design/engines.md §3), on pipes that ConnectionRelay joins to the connection: user
// "machine", uid 1000, /workspace as home, certificates of our user CA for the machine's principal (its id)
// only, no forwarding. The host key is the machine's own (DATA/machines/<id>/ ssh_host_ed25519_key), its host
// certificate ours and names the endpoint. Thread-safe.
class LocalSshd {
 public:
  struct Options {
    std::string data_dir;
    std::string listen_host = "127.0.0.1";  // ssh.listen
    std::string public_host = {};           // ssh.public_host: the endpoint; empty: listen_host
    int connections_max = 32;               // per machine; more are closed at once
    int starts_max = 16;  // sshds that are being started, one of each machine; further connections wait
    std::chrono::milliseconds round{5'000};  // of `on_use`, and of `door` for all machines
  };
  // What is asked and told of the machines: may block, several at once, from threads of the doors.
  struct Hooks {
    // Of each connection, before its sshd starts: the serials that are revoked now.
    std::function<base::Result<std::vector<std::uint64_t>>()> revoked;
    // Of each connection, and in each round: others may have put the machine to sleep, or opened its sshd.
    // kOver ends the listener and its connections; kNotYet, or an error, closes the new one alone.
    std::function<base::Result<schemas::SshListenerState>(const base::Uuid& machine)> listener;
    // Somebody is connected to the machine: at the beginning, in each round, and at the end.
    std::function<void(const base::Uuid& machine)> on_use;
  };

  // Error: there is no sshd here; the message says what to install.
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
  // Listens for the machine, at `port` if it is free, else at any; idempotent. The machine has been started.
  // Blocks. kHostAgentFailed, for the machine's owner: the log says why. kMachineNotRoutable: the machine has
  // the host's network, where its user could answer at a neighbour's port with a host key that clients trust.
  base::Result<Endpoint> listen(const schemas::Machine& machine, int port);
  // Stops listening and ends its connections (sleep, reboot, destroy). Not from a hook.
  void close(const base::Uuid& machine);

 private:
  struct Parts;
  explicit LocalSshd(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

inline constexpr const char* kSshUser = "machine";

}  // namespace millrace::machines
