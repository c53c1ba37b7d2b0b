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

StoreWatch::StoreWatch(Options options, Turnstile& turnstile, HealthBoard& health, Withdraw withdraw)
    : options_(std::move(options)), turnstile_(turnstile), health_(health), withdraw_(std::move(withdraw)) {
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
    look_at_line();
    if (std::chrono::steady_clock::now() < disk_due) continue;
    look_at_disk();
    disk_due += kDiskEvery;
  }
}

void StoreWatch::look_at_disk() {
  const std::int64_t free = free_bytes(options_.folder);
  disk_free_ = free;
  const bool low = free >= 0 && free < options_.disk_free_min_bytes;
  if (!low && !health_.disk_low()) return;
  health_.set_disk(low, std::to_string(free) + " bytes free, store.disk_free_min is " +
                            base::format_bytes(options_.disk_free_min_bytes));
}

void StoreWatch::look_at_line() {
  const auto waiting = turnstile_.waiting();
  if (!waiting || *waiting < options_.stuck_after) return;
  const std::string holder = turnstile_.holder();
  health_.set_degraded("the write lock has been held for " + base::format_duration(*waiting) + " by " +
                       (holder.empty() ? "an unknown process" : holder));
  if (!turnstile_.waiting()) health_.clear_degraded();  // it came through while we wrote
  withdraw_("the store waits for another process");
}

}  // namespace millrace::storage
