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
#include "platform/base/fd.h"
#include "platform/base/ids.h"

namespace millrace::machines {

// Where one machine is reached.
struct SshdListener {
  schemas::Machine machine;
  LocalSshd::Endpoint endpoint;
  Ed25519Key host_key;
  base::Fd listener;
  std::map<std::uint64_t, SshdConnection> connections;  // by a number of their own
  bool full_reported = false;                           // that it is full: once until there is room again
  bool ending = false;                                  // somebody removes it: nobody comes in any more
};

// The listeners of all machines and their connections, watched by one thread. A connection is accepted and
// its sshd started on a thread of its own, one at a time of each machine; while `starts_max` of them are at
// it, all others wait in their listener. Thread-safe.
class SshListeners {
 public:
  // Somebody who has connected.
  struct Visitor {
    schemas::Machine machine;
    std::string host_name;
    Ed25519Key host_key;
    base::Fd socket;
    std::string client;  // its address and port
  };
  // Starts the sshd of an accepted connection, whose socket it takes. `stop`: the start is to fail soon.
  // Several at once, of different machines.
  using Begin = std::function<base::Result<SshdConnection>(Visitor& visitor, const CancelToken& stop)>;
  // `hooks` outlive it.
  SshListeners(const LocalSshd::Options& options, const LocalSshd::Hooks& hooks, Begin begin);
  ~SshListeners();
  SshListeners(const SshListeners&) = delete;
  SshListeners& operator=(const SshListeners&) = delete;

  // That of a machine that has one already; the machine is from now on as it is given. Blocks while a hook is
  // asked about the machine: what is said of its past does not end a door that is given out now.
  std::optional<LocalSshd::Endpoint> endpoint(const schemas::Machine& machine);
  // Of a machine that got one meanwhile: that one stays. Blocks as `endpoint`.
  LocalSshd::Endpoint add(SshdListener machine_listener);
  // Blocks until its connections are gone, also one that is being started. Not from `Begin` or a hook.
  void remove(const base::Uuid& machine);

 private:
  using Steady = std::chrono::steady_clock;
  struct Watch {
    base::Uuid machine;
    std::uint64_t connection = 0;  // 0: the listener
  };
  // A descriptor that another thread closes meanwhile, or that is another file by then, does no harm: what is
  // to be done is looked up again.
  struct Watched {
    std::vector<pollfd> fds;
    std::vector<Watch> watches;  // one for each of `fds` after the first, which is `woken_`
  };
  void run(const std::stop_token& stop);
  void step();
  Watched watched();
  int wait_limit() const;
  void look_at(const Watch& watch);
  void answer(const base::Uuid& machine);
  std::shared_ptr<Visitor> visitor(const base::Uuid& machine);
  void start(Visitor& visitor, const CancelToken& stop);
  base::Result<SshdConnection> served(Visitor& visitor,
                                      const base::Result<schemas::SshListenerState>& machine_listener,
                                      const CancelToken& stop) const;
  bool starts_full();
  bool ends(const base::Uuid& machine);
  void leave(const base::Uuid& machine);
  void settle(const Visitor& visitor, bool over, base::Result<SshdConnection> made);
  base::Result<schemas::SshListenerState> state_of(const base::Uuid& machine) const;
  void attend(const Watch& watch);
  void go_round();
  void check(const base::Uuid& machine);
  void shut(const base::Uuid& machine);
  void wake() const;

  const int connections_max_;
  const int starts_max_;
  const std::chrono::milliseconds round_;
  const LocalSshd::Hooks& hooks_;
  const Begin begin_;
  const base::Fd woken_;
  std::mutex mutex_;
  std::condition_variable settled_;
  std::map<base::Uuid, SshdListener> listeners_;
  std::uint64_t last_connection_ = 0;
  std::set<base::Uuid> attended_;  // the machines of which a hook or `begin_` is asked
  SshdStarts starts_;
  // Of the thread alone.
  bool full_reported_ = false;  // that `starts_` is full: once until there is room again
  Steady::time_point next_round_;
  Steady::time_point deaf_until_{};  // no descriptor was left: nothing is accepted before
  std::jthread thread_;
};

}  // namespace millrace::machines
