#pragma once
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "storage/s3/client.h"

namespace millrace::s3 {

// Removes objects on threads of its own, because blobs are released on threads that must not block. An object
// that could not be removed is left for the orphan collection. Thread-safe.
class RemovalQueue {
 public:
  static constexpr std::size_t kWaitingMax = 100'000;

  explicit RemovalQueue(Client& client);
  // Waits for the waiting removals for 2 seconds at most, then stops the client.
  ~RemovalQueue();

  void add(const std::string& key);
  // Whether a removal of this object waits or runs.
  bool contains(const std::string& key) const;

 private:
  void run(const std::stop_token& stop);

  Client& client_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> waiting_;
  std::set<std::string> keys_;  // waiting and running
  std::array<std::jthread, 4> threads_;
};

}  // namespace millrace::s3
