#include "jobs/waiters.h"

#include <gtest/gtest.h>

#include "tests/unit/jobs/core.h"

namespace millrace::jobs {
namespace {

using schemas::JobStatus;

// The versions that a waiter received, in order.
class Heard {
 public:
  Waiters::Wake wake() {
    return [this](std::int64_t version, JobStatus) {
      const std::lock_guard lock(mutex_);
      versions_.push_back(version);
    };
  }
  std::vector<std::int64_t> versions() const {
    const std::lock_guard lock(mutex_);
    return versions_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::int64_t> versions_;
};

TEST(Waiters, ARegistrationBeforeTheSubmitGetsEveryChange) {
  Core core;
  const auto id = core.submitter->new_id(schemas::Kind::kOcr);
  Heard heard;
  const auto subscription = core.waiters->watch(id, 0, heard.wake());
  core.submit(id);
  core.claim();
  EXPECT_TRUE(support::wait_until([&] { return !heard.versions().empty() && heard.versions().back() == 2; }));
}

TEST(Waiters, AVersionThatWasSeenWakesNoWaiterAgain) {
  Core core;
  Heard heard;
  const schemas::JobId job{schemas::Kind::kOcr, base::Uuid::make(core.clock.wall())};
  const auto subscription = core.waiters->watch(job, 3, heard.wake());
  for (const std::int64_t version : {2, 3, 5, 5, 4})
    core.waiters->on_change(job, version, JobStatus::kRunning);
  EXPECT_EQ(heard.versions(), (std::vector<std::int64_t>{5}));
}

TEST(Waiters, ADroppedTicketGetsNothing) {
  Core core;
  Heard heard;
  const schemas::JobId job{schemas::Kind::kOcr, base::Uuid::make(core.clock.wall())};
  {
    const auto subscription = core.waiters->watch(job, 0, heard.wake());
    EXPECT_EQ(core.waiters->count(), 1U);
  }
  core.waiters->on_change(job, 1, JobStatus::kQueued);
  EXPECT_TRUE(heard.versions().empty());
  EXPECT_EQ(core.waiters->count(), 0U);
}

TEST(Waiters, APollFindsWhatNoNotificationReported) {
  Core core;
  const auto job = core.submit();
  core.claim();
  Heard heard;
  // The notification of version 2 was sent before.
  const auto subscription = core.waiters->watch(job, 1, heard.wake());
  core.waiters->poll();
  EXPECT_EQ(heard.versions(), (std::vector<std::int64_t>{2}));
}

TEST(Waiters, AWakeMayDropItsOwnTicket) {
  Core core;
  const schemas::JobId job{schemas::Kind::kOcr, base::Uuid::make(core.clock.wall())};
  Waiters::Subscription subscription;
  subscription =
      core.waiters->watch(job, 0, [&](std::int64_t, JobStatus) { subscription = Waiters::Subscription(); });
  core.waiters->on_change(job, 1, JobStatus::kQueued);
  EXPECT_EQ(core.waiters->count(), 0U);
}

}  // namespace
}  // namespace millrace::jobs
