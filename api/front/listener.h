#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "api/front/core.h"
#include "platform/base/result.h"

namespace millrace::front {

// Pistache's part: its acceptor and reactor, and the handler that gives their events to a Connection each.
// Pistache answers nothing and times nothing out here.
class Listener {
 public:
  // `beside`: only where there will be one thread.
  Listener(std::shared_ptr<Core> core, std::vector<Server::Options::ExtraFd> extra_fds);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // The error that `start` would return now: the address is in use or is not local to this host.
  static base::Status try_address(const std::string& host, std::uint16_t port);
  // Binds, starts the threads and waits until they serve. `host`: an address or a name; port 0: a free one.
  base::Status start(const std::string& host, std::uint16_t port, int threads);
  std::uint16_t port() const;
  // Wakes each Pistache thread: it may have lost the wake-up of an accepted connection. Thread-safe.
  void nudge();
  // Ends the threads. REQUIRES: nobody calls `nudge` any more.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::front
