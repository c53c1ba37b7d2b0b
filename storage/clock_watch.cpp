#include "storage/clock_watch.h"

#include "platform/base/log.h"

namespace millrace::storage {
namespace {

std::chrono::milliseconds offset(base::WallTime now, base::BootTime boot) {
  return now.time_since_epoch() - boot.time_since_epoch();
}

}  // namespace

ClockWatch::ClockWatch(base::WallTime now, base::BootTime boot)
    : trust_{.last_commit = std::nullopt, .regular_since = boot, .agreed_since = boot},
      opened_(boot),
      offset_(offset(now, boot)) {}

void ClockWatch::group_begins(base::WallTime now, base::BootTime boot) {
  if (boot - trust_.last_commit.value_or(opened_) > kCommitGapMax) trust_.regular_since = boot;
  const auto offset_now = offset(now, boot);
  const auto jump = offset_now - offset_;
  offset_ = offset_now;
  if (std::chrono::abs(jump) <= kClocksApartMax) return;
  trust_.agreed_since = boot;
  base::log_warn("clock_jumped", {{"by_ms", jump.count()}, {"fix", "look at the host's time service"}});
}

}  // namespace millrace::storage
