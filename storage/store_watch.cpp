#include "storage/store_watch.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "platform/base/bytes.h"
#include "storage/data_dir.h"

namespace millrace::storage {
namespace {

constexpr std::chrono::milliseconds kDiskEvery{1'000};

}  // namespace

StoreWatch::StoreWatch(Options options, Turnstile& turnstile, const FailureFlag& failure, HealthBoard& health,
                       Withdraw withdraw)
    : options_(std::move(options)),
      turnstile_(turnstile),
      failure_(failure),
      health_(health),
      withdraw_(std::move(withdraw)) {
  look_at_disk();
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

void StoreWatch::run(std::stop_token stop) {
  const auto tick = std::min(kDiskEvery, options_.stuck_after / 4);
  auto disk_due = std::chrono::steady_clock::now() + kDiskEvery;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, tick, [&] { return stop.stop_requested(); })) {
    failure_.end_if_set();
    look_at_line();
    if (std::chrono::steady_clock::now() < disk_due) continue;
    look_at_disk();
    disk_due += kDiskEvery;
  }
}

void StoreWatch::look_at_disk() {
  const std::int64_t free = free_bytes(options_.folder);
  const bool low = free >= 0 && free < options_.disk_free_min_bytes;
  if (!low && !health_.disk_low()) return;
  health_.set_disk(low, std::to_string(free) + " bytes free, store.disk_free_min is " +
                            base::format_bytes(options_.disk_free_min_bytes));
}

void StoreWatch::look_at_line() {
  const auto waiting = turnstile_.waiting();
  if (!waiting) return look_at_lock();
  held_since_.reset();
  if (*waiting < options_.stuck_after) return;
  degraded(*waiting);
  if (!turnstile_.waiting()) health_.clear_degraded();  // the writer got the lock in the meantime
  withdraw_("the store waits for another process");
}

// Busy writers may hold the lock at every check. Then the log shows progress.
void StoreWatch::look_at_lock() {
  const auto now = std::chrono::steady_clock::now();
  const std::int64_t written_ns = file_written_ns(options_.log);
  const bool gets_on = std::exchange(log_written_ns_, written_ns) != written_ns;
  if (!turnstile_.held_elsewhere() || gets_on) {
    held_since_.reset();
    if (health_.degraded() && !turnstile_.waiting()) health_.clear_degraded();
    return;
  }
  held_since_ = held_since_.value_or(now);
  const auto held = std::chrono::duration_cast<std::chrono::milliseconds>(now - *held_since_);
  if (held < options_.stuck_after) return;
  degraded(held);
  if (!turnstile_.held_elsewhere()) health_.clear_degraded();  // the lock was released in the meantime
}

void StoreWatch::degraded(std::chrono::milliseconds held) {
  const std::string holder = turnstile_.holder();
  health_.set_degraded("the write lock has been held for " + base::format_duration(held) + " by " +
                       (holder.empty() ? "an unknown process" : holder));
}

}  // namespace millrace::storage
