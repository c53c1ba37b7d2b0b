#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "platform/net/plain_connection.h"

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
  void ask(std::string host, std::function<void(Addresses)> done);

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
  std::condition_variable_any asked_;
  std::deque<Question> waiting_;
  std::size_t free_ = 0;  // threads without a question
  std::vector<std::jthread> threads_;
};

}  // namespace millrace::net
