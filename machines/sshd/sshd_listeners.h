#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <poll.h>

#include "machines/keys/ed25519_key.h"
#include "machines/sshd/local_sshd.h"
#include "machines/sshd/sshd_connection.h"
#include "machines/sshd/sshd_starts.h"
#include "machines/sshd/waiting_client.h"
#include "platform/base/fd.h"
#include "platform/base/ids.h"

namespace millrace::machines {

// The listener and connections of one machine. Connections have numbers in the order of their arrival.
struct SshdListener {
  struct Served {
    std::string address;  // of the client, without its port
    SshdConnection connection;
    // API key of the login, read once because sessions are deleted in time; nullopt: not yet
    std::optional<std::string> key = std::nullopt;
  };

  schemas::Machine machine;
  LocalSshd::Endpoint endpoint;
  Ed25519Key host_key;
  base::Fd listener;
  std::map<std::uint64_t, WaitingClient> waiting = {};
  std::optional<std::string> starting = std::nullopt;  // address of the client whose sshd is being started
  std::map<std::uint64_t, Served> connections = {};
  // the warning about too many connections was logged; reset when a connection ends
  bool full_reported = false;
  bool ending = false;  // being removed by another thread: accepts no further connections

  std::size_t size() const { return waiting.size() + connections.size() + (starting ? 1 : 0); }
  // The sshds of this client address that have no login yet.
  int logins(const std::string& address) const;
  // The client to close for a new one: of the address with the most connections without a login, the oldest
  // of these. nullopt: all have logged in.
  std::optional<std::uint64_t> oldest_without_login() const;
};

// The listeners and connections of all machines, watched by one thread. A client that has connected must send
// its version line; then its sshd is started on a separate thread, at most one at a time per machine. While
// `starts_max` starts are in progress (3/4 of them for one tenant), or `logins_max` sshds of the client's
// address have no login, it waits. The tenant with the fewest starts goes first, and machines take turns.
// Thread-safe.
class SshListeners {
 public:
  // A client that has connected.
  struct AcceptedClient {
    schemas::Machine machine;
    std::string host_name;
    Ed25519Key host_key;
    std::uint64_t number = 0;
    std::string address;  // without the port
    std::string client;   // address and port
    base::Fd socket;
    std::string received;  // the bytes that have been read from the socket: the version line
  };
  // Starts the sshd of an accepted connection and takes ownership of its socket. Once `stop` is set, the
  // start must fail soon. Called concurrently for different machines.
  using Begin =
      std::function<base::Result<SshdConnection>(AcceptedClient& accepted, const CancelToken& stop)>;
  // `hooks` must outlive this object.
  SshListeners(const LocalSshd::Options& options, const LocalSshd::Hooks& hooks, Begin begin);
  ~SshListeners();
  SshListeners(const SshListeners&) = delete;
  SshListeners& operator=(const SshListeners&) = delete;

  // The endpoint of a machine that already has a listener. Stores `machine` as its current state. Blocks
  // while a hook call about this machine is running, so a result about an older state cannot close a listener
  // that is returned now.
  std::optional<LocalSshd::Endpoint> endpoint(const schemas::Machine& machine);
  // Adds a listener. If the machine has got one meanwhile, that one is kept and its endpoint is returned.
  // Blocks like `endpoint`.
  LocalSshd::Endpoint add(SshdListener machine_listener);
  // Blocks until the connections of the machine have ended, including one that is being started. Must not be
  // called from `Begin` or a hook.
  void remove(const base::Uuid& machine);

 private:
  using Steady = std::chrono::steady_clock;
  struct Watch {
    base::Uuid machine;
    std::uint64_t connection = 0;  // its number; 0: the listener
  };
  // The descriptors for one poll() call. Another thread may close or reuse a descriptor meanwhile. This is
  // harmless, because the listener or connection is looked up again before anything is done.
  struct Watched {
    std::vector<pollfd> fds;
    std::vector<Watch> watches;  // one per element of `fds` after the first, which is `wakeup_fd_`
  };
  void run(const std::stop_token& stop);
  void step();
  Watched watched();
  int wait_limit() const;
  void look_at(const Watch& watch);
  void accept_client(const base::Uuid& machine);
  void read_client(const Watch& watch);
  void close_silent_clients();
  void start_ready_clients();
  std::shared_ptr<AcceptedClient> take_ready_client();
  void start(AcceptedClient& accepted, const CancelToken& stop);
  base::Result<SshdConnection> served(AcceptedClient& accepted,
                                      const base::Result<schemas::SshListenerState>& machine_listener,
                                      const CancelToken& stop) const;
  bool starts_full();
  std::map<std::string, int> starts_by_tenant() const;
  bool ends(const base::Uuid& machine);
  void leave(const base::Uuid& machine);
  void settle(const AcceptedClient& accepted, bool over, base::Result<SshdConnection> made);
  base::Result<schemas::SshListenerState> state_of(const base::Uuid& machine) const;
  void handle_connection(const Watch& watch);
  void check_listeners();
  void read_keys_of_logins();
  void end_logins_of_ended_keys();
  void check(const base::Uuid& machine);
  void close_listener(const base::Uuid& machine);
  void wake() const;

  const LocalSshd::Options options_;
  const LocalSshd::Hooks& hooks_;
  const Begin begin_;
  const base::Fd wakeup_fd_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::map<base::Uuid, SshdListener> listeners_;
  std::uint64_t last_connection_ = 0;
  base::Uuid last_started_{};      // the machine that got the last start
  std::set<base::Uuid> attended_;  // machines for which a hook or `begin_` is being called
  SshdStarts starts_;
  // Used only by the thread.
  bool full_reported_ = false;  // the warning about full `starts_` was logged; reset when one is free
  Steady::time_point next_round_;
  bool has_logins_ = false;
  Steady::time_point next_login_check_{};
  Steady::time_point next_deadline_ = Steady::time_point::max();  // of the waiting clients
  // after accept() failed for lack of descriptors: no connection is accepted before this time
  Steady::time_point accept_paused_until_{};
  std::jthread thread_;
};

}  // namespace millrace::machines
