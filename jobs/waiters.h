#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "bus/bus.h"
#include "schemas/jobs/job.h"
#include "storage/store.h"

namespace millrace::jobs {

// Requests that wait for a job to change: synchronous requests, `Prefer: wait`, event streams. Register
// first, then submit or read the row once. After that, `wake` is called for every version above the one seen.
// Hints may be lost; `poll` is the safety net. Thread-safe.
class Waiters {
 public:
  // Called on the thread that received the hint: post and return, ≤ 10 µs. Never called under this class's
  // lock.
  using Wake = std::function<void(std::int64_t version, schemas::JobStatus status)>;

  explicit Waiters(storage::Store& store) : store_(store) {}

  // Destroying the subscription ends the watch; a wake that has begun may still arrive. Waiters must outlive
  // its subscriptions.
  class Subscription {
   public:
    Subscription() = default;
    ~Subscription();
    Subscription(Subscription&&) noexcept;
    Subscription& operator=(Subscription&&) noexcept;

   private:
    friend class Waiters;
    Waiters* waiters_ = nullptr;
    schemas::JobId job_;
    std::uint64_t id_ = 0;
  };
  [[nodiscard]] Subscription watch(const schemas::JobId& job, std::int64_t seen_version, Wake wake);

  // Called by the commit hook for this process, and by bus::Events for other processes.
  void on_change(const schemas::JobId& job, std::int64_t version, schemas::JobStatus status);
  // Queries the store for all waiters at once; called every second while there are any. Blocks: pool only.
  void poll();
  std::size_t count() const;

 private:
  struct Watch {
    std::int64_t seen = 0;
    std::shared_ptr<const Wake> wake;
  };
  std::vector<schemas::JobId> watched() const;
  void forget(const schemas::JobId& job, std::uint64_t id);

  storage::Store& store_;
  mutable std::mutex mutex_;
  std::unordered_map<schemas::JobId, std::unordered_map<std::uint64_t, Watch>, schemas::JobIdHash> watches_;
  std::uint64_t next_id_ = 1;
  std::atomic<std::size_t> count_{0};  // lets a hint without waiters skip the lock
};

}  // namespace millrace::jobs
