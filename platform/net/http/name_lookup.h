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

// Threads that ask the system for the addresses of names. A name that no server answers for holds its thread
// for seconds: so there are several, begun as they are needed, and the others go on. Thread-safe.
class Resolvers {
 public:
  using Addresses = std::vector<PeerAddress>;
  using Resolve = std::function<Addresses(const std::string& host)>;  // blocks; none: it is not known
  static constexpr std::size_t kThreadsMax = 8;
  static constexpr std::size_t kAddressesMax = 16;  // of one name; the rest is not tried

  explicit Resolvers(Resolve resolve) : resolve_(std::move(resolve)) {}
  ~Resolvers();  // what waits is forgotten; those under way are waited for
  Resolvers(const Resolvers&) = delete;
  Resolvers& operator=(const Resolvers&) = delete;

  // `done` on one of the threads; in the order of asking while all of them are busy.
  void query(std::string host, std::function<void(Addresses)> done);

  // As the system is set up: files, DNS.
  static Addresses of_the_system(const std::string& host);

 private:
  struct Question {
    std::string host;
    std::function<void(Addresses)> done;
  };
  void run(const std::stop_token& stop);

  const Resolve resolve_;
  std::mutex mutex_;
  std::condition_variable_any pending_;
  std::deque<Question> waiting_;
  std::size_t free_ = 0;  // threads without a question
  std::vector<std::jthread> threads_;
};

// The addresses of hosts. Names are looked up on threads beside the loop, and remembered for a while; numbers
// need none. In the loop's turn only.
class NameLookup {
 public:
  using Addresses = Resolvers::Addresses;
  static constexpr std::chrono::seconds kRememberedFor{60};
  static constexpr std::size_t kRememberedMax = 256;

  explicit NameLookup(Loop::Impl& impl, Resolvers::Resolve resolve = &Resolvers::of_the_system)
      : impl_(impl), resolvers_(std::move(resolve)) {}
  // What is known at once, in `port`; empty: it has to be looked up.
  Addresses known(std::string_view host, std::uint16_t port);
  // `done` has none if there are none; not from within this call. Who asks for a name that is being looked up
  // waits for that.
  void look_up(const std::string& host, std::uint16_t port, std::function<void(Addresses)> done);
  void close();

 private:
  struct Remembered {
    Addresses addresses;
    std::chrono::steady_clock::time_point until;
  };
  struct Asker {
    std::uint16_t port = 0;
    std::function<void(Addresses)> done;
  };
  void answer(const std::string& host, const Addresses& addresses);
  void remember(const std::string& host, const Addresses& addresses);

  Loop::Impl& impl_;
  std::map<std::string, Remembered, std::less<>> remembered_;
  std::map<std::string, std::vector<Asker>, std::less<>> pending_;  // names that are being looked up
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Resolvers resolvers_;
};

}  // namespace millrace::net
