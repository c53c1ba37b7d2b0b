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

// Changes of all jobs, as this process hears of them (its own commits, and hints of others), for those who
// watch the whole gateway. No promise beyond that: a hint may be lost. Costs nothing while nobody follows.
// Thread-safe.
class Feed {
 public:
  static constexpr std::size_t kFollowersMax = 32;
  static constexpr std::size_t kBehindMax =
      4'096;  // jobs that wait for one follower: more, and it is dropped

  // One who follows, until the last owner lets go. What happens to a job between two looks is told once, as
  // its newest state, in the order of the first change.
  class Follower {
   public:
    // Everything since the last look. Empties it.
    std::vector<schemas::JobChange> take();
    bool dropped() const { return dropped_.load(std::memory_order_acquire); }  // was behind; hears no more

   private:
    friend class Feed;
    void on_change(const schemas::JobChange& change);

    std::mutex mutex_;
    std::unordered_map<schemas::JobId, std::size_t, schemas::JobIdHash> at_;  // in waiting_
    std::vector<schemas::JobChange> waiting_;
    std::atomic<bool> dropped_{false};
  };
  using FollowerPtr = std::shared_ptr<Follower>;

  FollowerPtr follow();  // null: kFollowersMax do already
  // A version that was heard before is not told again. On the announce thread or the bus's own: ≤ 10 µs.
  void on_change(const schemas::JobChange& change);
  std::size_t followers() const { return count_.load(std::memory_order_relaxed); }

 private:
  bool is_new(const schemas::JobChange& change);

  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;  // guards all below
  std::vector<std::weak_ptr<Follower>> followers_;
  std::unordered_map<schemas::JobId, std::int64_t, schemas::JobIdHash> versions_;  // newest versions of late
  std::deque<schemas::JobId> received_order_;
};

}  // namespace millrace::jobs
