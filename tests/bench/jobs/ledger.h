#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "platform/base/result.h"

namespace millrace::bench {

// Counts the events that other threads report, and lets one thread wait for a count. Thread-safe.
class Ledger {
 public:
  void stored(const base::Status& status) {
    const std::lock_guard lock(mutex_);
    ++stored_;
    if (!status && problem_.empty()) problem_ = status.error().message;
    changed_.notify_all();
  }
  void ended(bool well) {
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (!well && problem_.empty()) problem_ = "a job failed";
    if (ended_ >= requested_) changed_.notify_all();
  }

  // Waits until `count` jobs are stored. Error: a job failed, or the time is over.
  base::Status wait_stored(std::uint64_t count, std::chrono::seconds within) {
    return wait(
        within, [this, count] { return stored_ >= count; }, "jobs were not stored");
  }
  base::Status wait_ended(std::uint64_t count, std::chrono::seconds within) {
    {
      const std::lock_guard lock(mutex_);
      requested_ = count;
    }
    return wait(
        within, [this, count] { return ended_ >= count; }, "jobs did not end");
  }

 private:
  base::Status wait(std::chrono::seconds within, const std::function<bool()>& done, const std::string& what) {
    std::unique_lock lock(mutex_);
    const bool good = changed_.wait_for(lock, within, [&] { return done() || !problem_.empty(); });
    if (!problem_.empty()) return base::error(base::Code::kInternal, problem_);
    if (good) return {};
    return base::error(base::Code::kInternal, what + " within " + std::to_string(within.count()) +
                                                  " s: " + std::to_string(stored_) + " stored, " +
                                                  std::to_string(ended_) + " ended");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t stored_ = 0, ended_ = 0, requested_ = UINT64_MAX;
  std::string problem_;
};

}  // namespace millrace::bench
