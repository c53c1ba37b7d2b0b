#include <filesystem>

#include <gtest/gtest.h>

#include "app/commands/doctor_checks.h"
#include "tests/support/temp_dir.h"

namespace millrace::app::live_workers_test {
namespace {

TEST(LiveWorkers, LocksThatAreNotHeldNameNoWorkerAndNoneIsMade) {
  const support::TempDir folder;
  EXPECT_TRUE(live_workers(folder.str()).empty());
  EXPECT_FALSE(is_served(folder.str()));
  std::filesystem::create_directory(folder.str() + "/workers");
  folder.write("workers/dead-1.lock", "pid 1");
  EXPECT_TRUE(live_workers(folder.str()).empty());
  EXPECT_FALSE(std::filesystem::exists(folder.str() + "/locks"));
}

}  // namespace
}  // namespace millrace::app::live_workers_test
