#include "jobs/outbox_publisher.h"

#include <gtest/gtest.h>

#include "storage/jobs/job_outcomes.h"
#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

using schemas::JobStatus;

void end(Core& core, const storage::ClaimedJob& job) {
  support::Answer<storage::ReportResult> ended;
  storage::JobOutcomes(*core.store).finish(job.lease, {}, ended.take());
  ASSERT_TRUE(ended.wait());
}

TEST(OutboxPublisher, ACommittedJobIsAnnouncedToMaintenanceAtOnce) {
  Core core;
  core.local.stop(std::chrono::seconds(1));
  std::mutex mutex;
  std::vector<bus::Token> tokens;
  core.local.subscribe(schemas::Kind::kOcr, "w", [&](bus::Token token, const std::function<void()>& taken) {
    const std::lock_guard lock(mutex);
    tokens.push_back(std::move(token));
    taken();
  });
  core.local.set_capacity(schemas::Kind::kOcr, 8);
  ASSERT_TRUE(core.local.start());
  const auto job = core.submit();
  EXPECT_TRUE(support::wait_until([&] {
    const std::lock_guard lock(mutex);
    return tokens.size() == 1 && tokens[0].job == job && tokens[0].epoch == 1 && tokens[0].tenant == "t";
  }));
}

TEST(OutboxPublisher, OnlyTheWindowIsPublishedAndClaimsAdvanceIt) {
  KeptDispatch dispatch;
  Core core(nullptr, &dispatch);
  constexpr auto kWindow = static_cast<std::size_t>(storage::kWindowMin);
  for (std::size_t i = 0; i < kWindow + 4; ++i) core.submit();
  EXPECT_TRUE(support::wait_until([&] { return dispatch.tokens().size() == kWindow; }));
  for (const auto& job : core.claim(2)) end(core, job);
  EXPECT_TRUE(support::wait_until([&] { return dispatch.tokens().size() == kWindow + 2; }));
}

TEST(OutboxPublisher, TokensThatTheBrokerRejectedArePublishedWhenItRecovers) {
  KeptDispatch dispatch;
  dispatch.down = true;
  Core core(nullptr, &dispatch);
  core.submit();
  ASSERT_TRUE(support::wait_until([&] { return dispatch.refused > 0; }));
  dispatch.down = false;
  EXPECT_TRUE(support::wait_until([&] {
    core.relay->publish_backlog(schemas::Kind::kOcr);
    return !dispatch.tokens().empty();
  }));
}

}  // namespace
}  // namespace millrace::jobs
