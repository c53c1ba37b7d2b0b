#include "workers/worker.h"

#include <gtest/gtest.h>

#include "tests/unit/workers/house.h"

namespace millrace::workers {
namespace {

using schemas::JobStatus;
using std::chrono::milliseconds;

TEST(Worker, ClaimsRunsAndFinishesAJob) {
  House house;
  const auto job = house.submit();
  const auto held = house.script.attempt(0);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->job.lease.job, job);
  EXPECT_EQ(house.view(job).status, JobStatus::kRunning);
  house.script.end(held, Done{{.bytes = R"({"ok":true})", .blob = nullptr}});
  EXPECT_TRUE(house.reaches(job, JobStatus::kSucceeded));
}

}  // namespace
}  // namespace millrace::workers
