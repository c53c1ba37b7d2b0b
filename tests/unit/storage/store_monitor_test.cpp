#include <algorithm>
#include <atomic>

#include <gtest/gtest.h>

#include "storage/writer/health.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace millrace::storage {
namespace {

using support::wait_until;

constexpr std::chrono::milliseconds kStuckAfter{120};

std::unique_ptr<FairWriteLock> write_lock(const support::TempDir& folder) {
  return *FairWriteLock::open(folder.str());
}

// A process that writes nothing, and another process that writes.
class IdleStoreMonitor : public ::testing::Test {
 protected:
  void start(std::chrono::milliseconds stuck_after = kStuckAfter) {
    watch.emplace(
        StoreMonitor::Options{.folder = folder.str(),
                              .log = folder.str() + "/log",
                              .disk_free_min_bytes = 0,
                              .stuck_after = stuck_after},
        *line, *failure, health, [](const std::string&) {}, [] {});
  }
  bool degraded_within(std::chrono::milliseconds time) {
    return wait_until([&] { return health.degraded(); }, time);
  }

  support::TempDir folder;
  std::unique_ptr<FairWriteLock> line = write_lock(folder), other = write_lock(folder);
  std::unique_ptr<FailureFlag> failure = *FailureFlag::open(folder.str(), folder.str() + "/millrace.db");
  HealthState health;
  std::optional<StoreMonitor> watch;
};

TEST_F(IdleStoreMonitor, NamesWhoHoldsTheLockTooLongAndRecovers) {
  ASSERT_TRUE(other->acquire());
  start();
  ASSERT_TRUE(wait_until([&] { return health.degraded(); }));
  EXPECT_NE(health.health().store_detail.find("pid"), std::string::npos) << health.health().store_detail;
  other->release();
  EXPECT_TRUE(wait_until([&] { return !health.degraded(); }));
}

TEST_F(IdleStoreMonitor, ToleratesALockHeldAtEveryCheckWhileTheLogIsWritten) {
  ASSERT_TRUE(other->acquire());
  std::jthread writes([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      folder.write("log", std::to_string(i));
      wait_until([&] { return stop.stop_requested(); }, std::chrono::milliseconds(4));
    }
  });
  const std::chrono::milliseconds longer_than_a_busy_machine_pauses(800);
  start(longer_than_a_busy_machine_pauses);
  EXPECT_FALSE(degraded_within(2 * longer_than_a_busy_machine_pauses));
}

TEST_F(IdleStoreMonitor, DoesNotMindThatItsOwnProcessWrites) {
  ASSERT_TRUE(line->acquire());
  start();
  EXPECT_FALSE(degraded_within(2 * kStuckAfter));
  line->release();
}

TEST_F(IdleStoreMonitor, DoesNotBlockOtherProcesses) {
  start();
  std::vector<std::chrono::steady_clock::duration> waits;
  for (int i = 0; i < 2000; ++i) {
    const auto asked = std::chrono::steady_clock::now();
    ASSERT_TRUE(other->acquire());
    waits.push_back(std::chrono::steady_clock::now() - asked);
    other->release();
  }
  std::nth_element(waits.begin(), waits.begin() + 1000, waits.end());
  EXPECT_LT(waits[1000], std::chrono::milliseconds(5));
  EXPECT_TRUE(wait_until([&] { return !health.degraded(); }));
}

}  // namespace
}  // namespace millrace::storage
