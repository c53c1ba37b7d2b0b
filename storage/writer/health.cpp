#include "storage/writer/health.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "platform/base/bytes.h"
#include "platform/base/log.h"
#include "storage/data_dir.h"

namespace millrace::storage {
namespace {

constexpr const char* kWritesFail = "writes fail; the gateway's log has the cause";

}  // namespace

void HealthState::set_degraded(std::string detail) {
  std::lock_guard lock(mutex_);
  if (!degraded_.exchange(true) && !failing()) base::log_warn("store_degraded", {{"reason", detail}});
  store_detail_ = std::move(detail);
}

void HealthState::clear_degraded() {
  std::lock_guard lock(mutex_);
  if (degraded_.exchange(false) && !failing()) base::log_info("store_recovered");
  store_detail_.clear();
}

void HealthState::set_failing(const std::string& reason) {
  if (!failing_.exchange(true)) base::log_error("store_write_failed", {{"reason", reason}});
}

void HealthState::clear_failing() {
  if (failing_.exchange(false)) base::log_info("store_recovered");
}

void HealthState::set_disk(bool low, std::string detail) {
  std::lock_guard lock(mutex_);
  if (disk_low_.exchange(low) != low) {
    base::log_warn(low ? "store_disk_low" : "store_disk_recovered", {{"disk", detail}});
  }
  disk_detail_ = std::move(detail);
}

Store::Health HealthState::health() const {
  std::lock_guard lock(mutex_);
  Store::Health health;
  health.store_ok = !degraded() && !failing();
  health.store_detail = degraded() || !failing() ? store_detail_ : kWritesFail;
  health.disk_ok = !disk_low();
  health.disk_detail = disk_detail_;
  return health;
}

namespace {

constexpr std::chrono::milliseconds kDiskEvery{1'000};

}  // namespace

StoreMonitor::StoreMonitor(Options options, FairWriteLock& write_lock, const FailureFlag& failure,
                           HealthState& health, Withdraw withdraw, TryWrite try_write)
    : options_(std::move(options)),
      write_lock_(write_lock),
      failure_(failure),
      health_(health),
      withdraw_(std::move(withdraw)),
      try_write_(std::move(try_write)) {
  check_disk();
  thread_ = std::jthread([this](std::stop_token stop) { run(std::move(stop)); });
}

void StoreMonitor::run(std::stop_token stop) {
  const auto tick = std::min(kDiskEvery, options_.stuck_after / 4);
  auto disk_due = std::chrono::steady_clock::now() + kDiskEvery;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, tick, [&] { return stop.stop_requested(); })) {
    failure_.end_if_set();
    check_lock_wait();
    if (health_.failing()) try_write_();
    if (std::chrono::steady_clock::now() < disk_due) continue;
    check_disk();
    disk_due += kDiskEvery;
  }
}

void StoreMonitor::check_disk() {
  const std::int64_t free = free_bytes(options_.folder);
  const bool low = free >= 0 && free < options_.disk_free_min_bytes;
  if (!low && !health_.disk_low()) return;
  health_.set_disk(low, std::to_string(free) + " bytes free; store.disk_free_min is " +
                            base::format_bytes(options_.disk_free_min_bytes));
}

void StoreMonitor::check_lock_wait() {
  const auto waiting = write_lock_.waiting();
  if (!waiting) return check_lock_holder();
  held_since_.reset();
  if (*waiting < options_.stuck_after) return;
  degraded(*waiting);
  if (!write_lock_.waiting()) health_.clear_degraded();  // the writer got the lock in the meantime
  withdraw_("the store is waiting for another process that holds its write lock");
}

// Busy writers may hold the lock at every check. Then the log shows progress.
void StoreMonitor::check_lock_holder() {
  const auto now = std::chrono::steady_clock::now();
  const std::int64_t written_ns = file_stamp(options_.log).written_ns;
  const bool log_advances = std::exchange(log_written_ns_, written_ns) != written_ns;
  if (!write_lock_.held_elsewhere() || log_advances) {
    held_since_.reset();
    if (health_.degraded() && !write_lock_.waiting()) health_.clear_degraded();
    return;
  }
  held_since_ = held_since_.value_or(now);
  const auto held = std::chrono::duration_cast<std::chrono::milliseconds>(now - *held_since_);
  if (held < options_.stuck_after) return;
  degraded(held);
  if (!write_lock_.held_elsewhere()) health_.clear_degraded();  // the lock was released in the meantime
}

void StoreMonitor::degraded(std::chrono::milliseconds held) {
  const std::string holder = write_lock_.holder();
  health_.set_degraded("the write lock has been held for " + base::format_duration(held) + " by " +
                       (holder.empty() ? "an unknown process" : holder));
}

}  // namespace millrace::storage
