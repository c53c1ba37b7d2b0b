#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "workers/jobs/maintenance_timer.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeLimit{1'000};

base::BootTime at(int ms) { return base::BootTime(milliseconds(ms)); }

class MaintenanceLeaderTest : public ::testing::Test {
 protected:
  MaintenanceLeader process() {
    return MaintenanceLeader::open((dir_.path() / "upkeep.lock").string(), kTimeLimit).value();
  }

  support::TempDir dir_;
  MaintenanceLeader first_ = process(), second_ = process(), third_ = process();
};

TEST_F(MaintenanceLeaderTest, TheFirstProcessLeadsUntilItGivesUp) {
  EXPECT_TRUE(first_.is_leader(at(0)));
  EXPECT_FALSE(second_.is_leader(at(0)));
  first_.record_next_round(at(30'000));
  EXPECT_FALSE(second_.is_leader(at(30'999)));
  EXPECT_TRUE(first_.is_leader(at(30'999)));
  first_.give_up();
  EXPECT_TRUE(second_.is_leader(at(30'999)));
  EXPECT_FALSE(first_.is_leader(at(30'999)));
}

TEST_F(MaintenanceLeaderTest, AStandbyTakesOverFromALateLeader) {
  ASSERT_TRUE(first_.is_leader(at(0)));
  first_.record_next_round(at(500));
  EXPECT_TRUE(second_.is_leader(at(1'500)));
  EXPECT_FALSE(third_.is_leader(at(1'500)));
  second_.record_next_round(at(2'000));
  EXPECT_FALSE(third_.is_leader(at(2'500)));
  EXPECT_TRUE(second_.is_leader(at(2'500)));
}

TEST_F(MaintenanceLeaderTest, AStandbyTakesOverFromALeaderThatIsStoppedInItsFirstRound) {
  ASSERT_TRUE(first_.is_leader(at(0)));
  EXPECT_FALSE(second_.is_leader(at(999)));
  EXPECT_TRUE(second_.is_leader(at(1'000)));
}

TEST_F(MaintenanceLeaderTest, AStandbyThatIsLateIsReplaced) {
  ASSERT_TRUE(first_.is_leader(at(0)));
  ASSERT_TRUE(second_.is_leader(at(1'000)));
  second_.record_next_round(at(1'500));
  EXPECT_TRUE(third_.is_leader(at(2'500)));
  EXPECT_FALSE(second_.is_leader(at(2'600)));
}

TEST_F(MaintenanceLeaderTest, ALeaderThatComesBackLeadsAgain) {
  ASSERT_TRUE(first_.is_leader(at(0)));
  ASSERT_TRUE(second_.is_leader(at(1'000)));
  second_.record_next_round(at(1'500));
  EXPECT_TRUE(first_.is_leader(at(1'600)));
  first_.record_next_round(at(2'100));
  EXPECT_FALSE(second_.is_leader(at(2'000)));
  EXPECT_FALSE(second_.is_leader(at(3'099)));
}

TEST_F(MaintenanceLeaderTest, AStandbyDoesNotOverwriteTheNoteOfAReturnedLeader) {
  ASSERT_TRUE(first_.is_leader(at(0)));
  ASSERT_TRUE(second_.is_leader(at(1'000)));
  EXPECT_TRUE(first_.is_leader(at(1'600)));
  first_.record_next_round(at(2'100));
  second_.record_next_round(at(2'200));
  EXPECT_FALSE(second_.is_leader(at(2'700)));
}

TEST_F(MaintenanceLeaderTest, ARecordOfAnEarlierBootIsOverwritten) {
  ASSERT_TRUE(first_.is_leader(at(900'000)));
  first_.record_next_round(at(930'000));
  first_.give_up();
  ASSERT_TRUE(second_.is_leader(at(5)));
  EXPECT_FALSE(third_.is_leader(at(1'000)));
  EXPECT_TRUE(third_.is_leader(at(1'005)));
}

}  // namespace
}  // namespace millrace::workers
