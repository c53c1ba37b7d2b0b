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

// Who waits for a job to change: synchronous requests, `Prefer: wait`, event streams. Register, then submit
// or read the row once; after that `wake` comes at every version above the one seen. Hints may be lost:
// `look` is the safety net. Thread-safe.
class Waiters {
 public:
  // Called on whatever thread heard the hint, ≤ 10 µs: post and return. Never called under the lock of this
  // class.
  using Wake = std::function<void(std::int64_t version, schemas::JobStatus status)>;

  explicit Waiters(storage::Store& store) : store_(store) {}

  // Dropping the ticket ends the watch; a wake that has begun may still arrive. Waiters outlives its tickets.
  class Ticket {
   public:
    Ticket() = default;
    ~Ticket();
    Ticket(Ticket&&) noexcept;
    Ticket& operator=(Ticket&&) noexcept;

   private:
    friend class Waiters;
    Waiters* waiters_ = nullptr;
    schemas::JobId job_;
    std::uint64_t id_ = 0;
  };
  [[nodiscard]] Ticket watch(const schemas::JobId& job, std::int64_t seen_version, Wake wake);

  // From the commit hook (this process) and from bus::Events (the others).
  void on_change(const schemas::JobId& job, std::int64_t version, schemas::JobStatus status);
  // One query for all waiters, once per second while there are any. Blocks: pool only.
  void look();
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
  std::atomic<std::size_t> count_{0};  // so that a hint without waiters costs no lock
};

}  // namespace millrace::jobs
