#include "storage/clock_watch.h"

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
  if (std::chrono::abs(offset_now - offset_) > kClocksApartMax) trust_.agreed_since = boot;
  offset_ = offset_now;
}

}  // namespace millrace::storage
