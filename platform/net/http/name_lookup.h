#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "platform/net/http/plain_connection.h"
#include "platform/net/loop_impl.h"

namespace millrace::net {

// Threads that resolve host names with the system resolver. A name whose server does not answer blocks its
// thread for seconds. So there are several threads, started on demand. Thread-safe.
class Resolvers {
 public:
  using Addresses = std::vector<PeerAddress>;
  using Resolve = std::function<Addresses(const std::string& host)>;  // blocks; empty result: unknown name
  static constexpr std::size_t kThreadsMax = 8;
  static constexpr std::size_t kAddressesMax = 16;  // per name; further addresses are not tried

  explicit Resolvers(Resolve resolve) : resolve_(std::move(resolve)) {}
  ~Resolvers();  // drops queued requests and waits for running ones
  Resolvers(const Resolvers&) = delete;
  Resolvers& operator=(const Resolvers&) = delete;

  // Calls `done` on one of the threads. If all threads are busy, requests are queued in order.
  void query(std::string host, std::function<void(Addresses)> done);

  // Uses the configuration of the system: files, DNS.
  static Addresses of_the_system(const std::string& host);

 private:
  struct Lookup {
    std::string host;
    std::function<void(Addresses)> done;
  };
  void run(const std::stop_token& stop);

  const Resolve resolve_;
  std::mutex mutex_;
  std::condition_variable_any pending_;
  std::deque<Lookup> waiting_;
  std::size_t free_ = 0;  // idle threads
  std::vector<std::jthread> threads_;
};

// Resolves hosts to addresses. Names are resolved on other threads and cached; numeric addresses need no
// lookup. Call only while the run lock is held.
class NameLookup {
 public:
  using Addresses = Resolvers::Addresses;
  static constexpr std::chrono::seconds kRememberedFor{60};
  static constexpr std::size_t kRememberedMax = 256;

  explicit NameLookup(Loop::Impl& impl, Resolvers::Resolve resolve = &Resolvers::of_the_system)
      : impl_(impl), resolvers_(std::move(resolve)) {}
  // Addresses that are known without a lookup, with `port` set. Empty: call look_up.
  Addresses known(std::string_view host, std::uint16_t port);
  // Resolves `host`. `done` gets an empty list if the name is unknown; it is never called from inside this
  // call. A request for a name that is already being resolved joins that lookup.
  void look_up(const std::string& host, std::uint16_t port, std::function<void(Addresses)> done);
  void close();

 private:
  struct Remembered {
    Addresses addresses;
    std::chrono::steady_clock::time_point until;
  };
  struct Waiter {
    std::uint16_t port = 0;
    std::function<void(Addresses)> done;
  };
  void answer(const std::string& host, const Addresses& addresses);
  void remember(const std::string& host, const Addresses& addresses);

  Loop::Impl& impl_;
  std::map<std::string, Remembered, std::less<>> remembered_;
  std::map<std::string, std::vector<Waiter>, std::less<>> pending_;  // names that are being resolved
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Resolvers resolvers_;
};

}  // namespace millrace::net
