#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "schemas/jobs/job.h"

namespace millrace::jobs {

// The changes of all jobs that this process learns of (its own commits, and hints of other processes), for
// clients that watch the whole gateway. Delivery is not guaranteed: a hint may be lost. It costs nothing
// while there are no followers. Thread-safe.
class Feed {
 public:
  static constexpr std::size_t kFollowersMax = 32;
  static constexpr std::size_t kBehindMax =
      4'096;  // changed jobs that one follower has not taken yet; above it, the follower is dropped

  // A subscription, which ends when its last owner releases it. Several changes of a job between two calls of
  // `take` are returned as one, with the newest state, in the order of the job's first change.
  class Follower {
   public:
    // Returns and removes all changes since the last call.
    std::vector<schemas::JobChange> take();
    // True: the follower fell too far behind and receives nothing more.
    bool dropped() const { return dropped_.load(std::memory_order_acquire); }

   private:
    friend class Feed;
    void on_change(const schemas::JobChange& change);

    std::mutex mutex_;
    std::unordered_map<schemas::JobId, std::size_t, schemas::JobIdHash> at_;  // in waiting_
    std::vector<schemas::JobChange> waiting_;
    std::atomic<bool> dropped_{false};
  };
  using FollowerPtr = std::shared_ptr<Follower>;

  FollowerPtr follow();  // null: there are already kFollowersMax followers
  // Passes a change to the followers; a version that was seen before is ignored. Called on the completion
  // thread or on the bus's thread: ≤ 10 µs.
  void on_change(const schemas::JobChange& change);
  std::size_t followers() const { return count_.load(std::memory_order_relaxed); }

 private:
  bool is_new(const schemas::JobChange& change);

  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;  // guards all below
  std::vector<std::weak_ptr<Follower>> followers_;
  std::unordered_map<schemas::JobId, std::int64_t, schemas::JobIdHash>
      versions_;  // the newest versions of recent jobs
  std::deque<schemas::JobId> received_order_;
};

}  // namespace millrace::jobs
