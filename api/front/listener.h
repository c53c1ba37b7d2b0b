#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "api/front/server_state.h"
#include "platform/base/result.h"

namespace millrace::front {

// Wraps Pistache's acceptor and reactor. Its handler passes the events of each client to a Connection.
// Pistache sends no responses and applies no time-outs here.
class Listener {
 public:
  // `extra_fds`: only if there will be one thread.
  Listener(std::shared_ptr<ServerState> state, std::vector<Server::Options::ExtraFd> extra_fds);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The error that `start` would return now: the address is in use or not local to this host.
  static base::Status try_address(const std::string& host, std::uint16_t port);
  // Binds, starts the threads and waits until they are ready. `host`: an address or a name; port 0: any free
  // port.
  base::Status start(const std::string& host, std::uint16_t port, int threads);
  std::uint16_t port() const;
  // Wakes each Pistache thread, because it may have missed the wake-up for an accepted connection.
  // Thread-safe.
  void nudge();
  // Ends the threads. REQUIRES: no later or concurrent call of `nudge`.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::front
