#include "jobs/feed.h"

#include <gtest/gtest.h>

#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

using schemas::JobStatus;

schemas::JobChange change_of(const schemas::JobId& job, std::int64_t version,
                             JobStatus status = JobStatus::kRunning) {
  return {job, "acme", version, status};
}

schemas::JobId some_job() { return {schemas::Kind::kOcr, base::Uuid::make(base::SystemClock().wall())}; }

TEST(Feed, AFollowerReceivesOnlyChangesAfterItsSubscription) {
  Feed feed;
  const auto job = some_job();
  feed.on_change(change_of(job, 1));
  const auto follower = feed.follow();
  feed.on_change(change_of(job, 2));
  const auto heard = follower->take();
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].version, 2);
  EXPECT_EQ(heard[0].tenant, "acme");
  EXPECT_TRUE(follower->take().empty());
}

TEST(Feed, ARepeatedVersionIsNotReported) {
  Feed feed;
  const auto follower = feed.follow();
  const auto job = some_job();
  for (const std::int64_t version : {2, 2, 1}) feed.on_change(change_of(job, version));
  EXPECT_EQ(follower->take().size(), 1u);
  feed.on_change(change_of(job, 2));
  EXPECT_TRUE(follower->take().empty());
}

TEST(Feed, BetweenTwoPollsAJobIsReportedOnceWithItsLatestState) {
  Feed feed;
  const auto follower = feed.follow();
  const auto first = some_job(), second = some_job();
  feed.on_change(change_of(first, 1, JobStatus::kQueued));
  feed.on_change(change_of(second, 1, JobStatus::kQueued));
  feed.on_change(change_of(first, 3, JobStatus::kSucceeded));
  const auto heard = follower->take();
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].job, first);
  EXPECT_EQ(heard[0].status, JobStatus::kSucceeded);
}

TEST(Feed, AFollowerThatDoesNotPollIsDroppedAndItsMemoryFreed) {
  Feed feed;
  const auto slow = feed.follow(), quick = feed.follow();
  for (std::size_t i = 0; i <= Feed::kBehindMax; ++i) {
    feed.on_change(change_of(some_job(), 1));
    quick->take();
  }
  EXPECT_TRUE(slow->dropped());
  EXPECT_TRUE(slow->take().empty());
  EXPECT_FALSE(quick->dropped());
}

TEST(Feed, FollowersAreBoundedAndUnfollowingFreesASlot) {
  Feed feed;
  std::vector<Feed::FollowerPtr> followers;
  for (std::size_t i = 0; i < Feed::kFollowersMax; ++i) followers.push_back(feed.follow());
  EXPECT_EQ(feed.follow(), nullptr);
  followers.pop_back();
  EXPECT_NE(feed.follow(), nullptr);
}

TEST(Feed, TheOutboxPublisherReportsEveryCommitOnce) {
  Core core;
  const auto follower = core.feed.follow();
  const auto job = core.submit();
  std::vector<schemas::JobChange> heard;
  EXPECT_TRUE(support::wait_until([&] {
    for (auto& each : follower->take()) heard.push_back(each);
    return !heard.empty();
  }));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].job, job);
  EXPECT_EQ(heard[0].tenant, "t");
}

}  // namespace
}  // namespace millrace::jobs
